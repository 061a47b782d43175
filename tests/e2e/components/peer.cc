// A component as users write it, for tests: peer NAMES GROUP TYPE NAME HOST TYPE=COUNT… It answers, counts, or is
// silent, and ends when it is told to.
#include <cadre/component.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  cadre::Component::Options options{
      .group = argv[2], .type = argv[3], .name = argv[4], .names = argv[1], .host = argv[5]};
  for (int i = 6; i < argc; ++i) {
    const std::string expected = argv[i];
    const std::size_t equals = expected.find('=');
    options.peers[expected.substr(0, equals)] = std::stoul(expected.substr(equals + 1));
  }
  cadre::Component component(options);
  std::string counted;
  using cadre::Message;
  component.on("echo", [](cadre::Component& c, const Message& m) { c.reply(m, m.body()).value(); }).value();
  component.on("silence", [](cadre::Component&, const Message&) {}).value();
  component.on("count", [&](cadre::Component&, const Message& m) { counted += std::string(m.text()) + ","; }).value();
  component.on("counted", [&](cadre::Component& c, const Message& m) { c.reply(m, counted).value(); }).value();
  component
      .on("strangers",
          [](cadre::Component& c, const Message& m) { c.reply(m, std::to_string(c.counters().strangers)).value(); })
      .value();
  component.on("end", [](cadre::Component& c, const Message&) { c.stop(); }).value();
  if (const cadre::Outcome<void> joined = component.join(std::chrono::seconds(60)); !joined) {
    std::fprintf(stderr, "peer %s: %s\n", argv[4], joined.reason().text.c_str());
    return 1;
  }
  const cadre::Outcome<void> ended = component.launch();
  if (!ended) std::fprintf(stderr, "peer %s: %s\n", argv[4], ended.reason().text.c_str());
  return ended ? 0 : 1;
}
