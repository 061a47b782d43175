#include "master/bulk/bulk_thread.h"

#include <thread>
#include <utility>

#include "database/url.h"
#include "loop/real_loop.h"

namespace cadre::master {

struct BulkThread::Inside {
  Inside(Options options, Log& log) : options(std::move(options)), log(log) {}

  loop::Task<void> serve() {
    co_await ingest->run();
    loop.stop();
  }

  const Options options;
  Log& log;
  loop::RealLoop loop;
  loop::Calendar calendar{loop};
  std::unique_ptr<BulkDatabase> database;
  std::unique_ptr<BulkPart> part;
  std::unique_ptr<Ingest> ingest;
  std::jthread thread;
};

Result<std::unique_ptr<BulkThread>> BulkThread::start(Options options, api::Identifier& identifier, Log& log) {
  auto inside = std::make_unique<Inside>(std::move(options), log);
  TRY_ASSIGN(database, database::open(inside->options.database));
  TRY_ASSIGN(url, database::parse_url(inside->options.database));
  const bool is_on_server = std::holds_alternative<database::PostgresUrl>(url);
  inside->database = std::make_unique<BulkDatabase>(std::move(database), inside->options.boot,
                                                    is_on_server ? records::Pieces::large : records::Pieces::single);
  inside->part = inside->options.make({*inside->database, inside->calendar, log, inside->options.tell_part});
  inside->ingest = std::make_unique<Ingest>(Ingest::Dependencies{inside->loop, *inside->part, identifier,
                                                                 inside->options.reply, log, inside->options.counters},
                                            inside->options.limits);
  inside->thread = std::jthread([inside = inside.get()] {
    inside->loop.spawn(inside->serve());
    inside->loop.run();
  });
  return std::unique_ptr<BulkThread>(new BulkThread(std::move(inside)));
}

BulkThread::BulkThread(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
BulkThread::~BulkThread() { stop(); }

Ingest& BulkThread::ingest() { return *inside_->ingest; }

void BulkThread::stop() {
  if (!inside_->thread.joinable()) return;
  inside_->ingest->stop();
  inside_->thread.join();
}

}  // namespace cadre::master
