// Two components that greet each other. In two shells, in any order:
//
//     hello worker file:///tmp/hello
//     hello greeter file:///tmp/hello
//
// The same works with examples/components/hello.py in the place of either. Built with
//     L=$PWD/build/release/src/client
//     c++ -std=c++20 -Iinclude examples/components/hello.cc -L$L -lcadre -Wl,-rpath,$L -o hello
#include <cadre/component.h>

#include <cstdio>
#include <string>

/// A plain class, of use alone.
class Greeter {
 public:
  std::string greet(const std::string& name) {
    return "hello " + name + ", you are number " + std::to_string(++greeted_);
  }
  int greeted() const { return greeted_; }

 private:
  int greeted_ = 0;
};

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: hello greeter|worker NAMES\n"), 2;
  const std::string role = argv[1];
  const std::string other = role == "greeter" ? "worker" : "greeter";
  cadre::Component component({.group = "hello", .type = role, .name = role, .peers = {{other, 1}}, .names = argv[2]});
  if (role == "greeter") {
    const auto table = cadre::handlers<Greeter>().on(
        "hello", [](Greeter& greeter, cadre::Component& c, const cadre::Message& message) {
          c.reply(message, greeter.greet(message.source)).value();
          c.stop();
        });
    auto node = cadre::dist(Greeter{}, component, table);
    component.join().value();
    node.launch().value();
    std::printf("greeted %d\n", node->greeted());
  } else {
    component.join().value();
    const cadre::Message answer = component.request("greeter", "hello").value();
    std::printf("%s\n", std::string(answer.text()).c_str());
  }
  return component.close().empty() ? 0 : 1;
}
