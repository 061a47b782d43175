// A program that forgot cadre::init: as an actor it must not make actors of its own.
#include <cadre/remote.h>

#include <iostream>

namespace {

struct Thing {
  int one() { return 1; }
};

}  // namespace

CADRE_REMOTE(Thing, .ctor<>(), .method(&Thing::one));

int main() {
  try {
    const auto thing = cadre::remote<Thing>({.cpus = 0});
    std::cout << thing.call(&Thing::one).get() << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
}
