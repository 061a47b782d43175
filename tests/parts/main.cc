// A master with one more part. usage: cadre_counting CONFIG DATA [DATABASE]
#include <csignal>
#include <string>
#include <vector>

#include "app/master_process.h"
#include "app/process_log.h"
#include "tests/parts/bulk/counter_bulk.h"
#include "tests/parts/counter.h"
#include "tests/parts/counter_shell.h"

using cadre::counter::CounterBulk;
using cadre::counter::CounterPart;
using cadre::counter::CounterShell;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  const auto read = cadre::master::read_config(argv[1]);
  if (!read) return 2;
  cadre::master::Config config = *read;
  config.data = argv[2];
  if (argc > 3) config.database = argv[3];
  config.http.listen = "127.0.0.1:0";
  config.cluster.agent_timeout = std::chrono::seconds(5);
  const auto log = cadre::app::make_log("master", {});
  cadre::app::MasterExtras extras;
  extras.parts = [](cadre::api::Sections& sections) -> std::vector<cadre::app::PartDeclaration> {
    return {cadre::app::declare<CounterPart>(sections).with_shell<CounterShell>().with_bulk<CounterBulk>()};
  };
  const auto ended = cadre::app::run_master(config, *log, std::move(extras));
  if (!ended) log->error(ended.error().message);
  return ended ? 0 : 1;
}
