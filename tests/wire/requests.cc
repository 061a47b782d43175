#include "gateway/requests_for_tests.h"
#include "tests/wire/kinds.h"

namespace cadre::wire {
namespace {

/// The fields of a request are read strictly, so one that is gone would make older clients useless.
template <class T>
testing::AssertionResult accepts(BytesView bytes) {
  const auto tree = describe::parse_msgpack(bytes);
  const auto now = tree.and_then(describe::read<T>);
  if (!now) return testing::AssertionFailure() << describe::to_text(now.error(), "the request");
  return keeps(*tree, describe::write(*now), "request");
}

}  // namespace

void add_requests(Kinds& kinds) {
  gateway::for_all_requests([&]<class T>(std::type_identity<T>) {
    const std::string name = "request." + std::string(T::type_name);
    kinds[name] = {
        [name] { return describe::to_msgpack(describe::write(example_of<T>(name), describe::Defaults::omitted)); },
        accepts<T>};
    add<typename T::Answer>(kinds, "response." + std::string(T::Answer::type_name));
  });
}

}  // namespace cadre::wire
