// A C++ class on the cluster: simulator [MASTER]
#include <cadre/remote.h>

#include <iostream>
#include <stdexcept>

struct Action {
  double push = 0;
};
template <class V>
void describe(V& v, Action& a) {
  v.field("push", a.push, "How hard.");
}

struct Obs {
  double position = 0;
  int step = 0;
};
template <class V>
void describe(V& v, Obs& o) {
  v.field("position", o.position, "Where it is.");
  v.field("step", o.step, "Steps so far.");
}

/// A plain class, which knows nothing of clusters.
class Simulator {
 public:
  explicit Simulator(double start) : position_(start) {}
  Obs step(const Action& action) {
    if (action.push < 0) throw std::out_of_range("the number of pushes must not be negative");
    position_ += action.push;
    score += 1;
    return {position_, ++steps_};
  }
  double score = 0;

 private:
  double position_;
  int steps_ = 0;
};

CADRE_REMOTE(Simulator, .ctor<double>(), .method(&Simulator::step), .field(&Simulator::score));

int main(int argc, char** argv) {
  cadre::init(argc, argv);
  cadre::connect(argc > 1 ? argv[1] : "").value();
  auto simulator = cadre::remote<Simulator>({.cpus = 0.1}, 40.0);
  std::vector<cadre::Future<Obs>> futures;
  for (int i = 0; i < 2; ++i) futures.push_back(simulator.call(&Simulator::step, Action{1.0}));
  for (const Obs& obs : cadre::gather(futures, std::chrono::seconds(60))) {
    std::cout << "step " << obs.step << ": at " << obs.position << "\n";
  }
  try {
    simulator.call(&Simulator::step, Action{-1.0}).get();
  } catch (const cadre::RemoteError& error) {
    std::cout << error.type_name() << ": " << error.what() << "\n";
  }
  std::cout << "score " << simulator.get(&Simulator::score).get() << "\n";
  cadre::disconnect();
}
