// A master with one more part. usage: cadre_counting DATA [DATABASE]
#include <csignal>
#include <string>

#include "app/master_process.h"
#include "app/process_log.h"
#include "tests/parts/counter.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  cadre::master::Config config;
  config.data = argv[1];
  if (argc > 2) config.database = argv[2];
  config.http.listen = "127.0.0.1:0";
  config.cluster.agent_timeout = std::chrono::seconds(5);
  const auto log = cadre::app::make_log("master", {});
  cadre::app::MasterExtras extras;
  extras.parts = {cadre::app::declare<cadre::counter::CounterPart>(cadre::counter::CounterPart::type())};
  const auto ended = cadre::app::run_master(config, *log, std::move(extras));
  if (!ended) log->error(ended.error().message);
  return ended ? 0 : 1;
}
