#include "app/bench_command.h"

#include <cstdio>
#include <memory>

#include "bench/bench.h"
#include "cli/exit_code.h"
#include "cli/table.h"

namespace cadre::app {
namespace {

struct BenchSettings {
  std::string name;
  bool json = false;
};

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.0f", value);
  return text;
}

int run(const BenchSettings& settings) {
  const Result<bench::Figures> figures = bench::all().at(settings.name)();
  if (!figures) {
    std::fprintf(stderr, "cadre bench: %s\n", figures.error().message.c_str());
    return cli::failed;
  }
  if (settings.json) {
    std::printf("%s\n", describe::write_json(*figures).c_str());
    return cli::done;
  }
  cli::Table table({"BENCH " + figures->bench, "VALUE", "UNIT", "RAW LIMIT", "RATIO"});
  for (const bench::Row& row : figures->rows) {
    table.add({row.name, number(row.value), row.unit, row.limit ? number(*row.limit) : "-",
               row.ratio ? number(*row.ratio * 100) + " %" : "-"});
  }
  std::printf("%s", table.to_text(cli::takes_colours(1)).c_str());
  return cli::done;
}

}  // namespace

void add_bench_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& command = *app.add_subcommand("bench", "Run a benchmark and compare the result with a minimal program");
  const auto settings = std::make_shared<BenchSettings>();
  std::vector<std::string> names;
  for (const auto& [name, bench] : bench::all()) names.push_back(name);
  command.add_option("name", settings->name, "Name of the benchmark")->required()->check(CLI::IsMember(names));
  command.add_flag("--json", settings->json, "Print one JSON object");
  command.callback([settings, &chosen] { chosen = [settings] { return run(*settings); }; });
}

}  // namespace cadre::app
