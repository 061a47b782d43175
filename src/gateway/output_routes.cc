#include "base/overloaded.h"
#include "describe/utf8.h"
#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/listen.h"
#include "gateway/problem.h"
#include "logs/level.h"
#include "logs/record.h"

namespace cadre::gateway {
namespace {

namespace bulk = cluster::bulk;
namespace requests = cluster::requests;
using requests::LogLine;
using requests::LogPage;
using requests::ReadLogs;
using requests::TaskView;

/// Of output that is looked through for one page, when few lines are wanted.
constexpr std::int64_t scan_max = std::int64_t{16} << 20;
/// Maximum time that a page waits for lines; then it is sent without any.
constexpr Duration output_wait_max = std::chrono::seconds(20);

Result<TaskView> task_in(const api::Reply& reply) {
  if (const auto* task = reply.as<TaskView>()) return *task;
  const api::Failed* const no = reply.failed();
  return no == nullptr ? fail(Errc::corrupt, "unexpected reply") : fail(no->code, no->message);
}

bool is_wanted(const ReadLogs& request, const logs::Line& line, Level level) {
  if (request.since && line.time < *request.since) return false;
  if (request.level && level < *request.level) return false;
  return request.grep.empty() || line.text.find(request.grep) != std::string_view::npos;
}

void add_lines(const ReadLogs& request, BytesView records, LogPage& page) {
  logs::Decoder decoder(records);
  while (const std::optional<logs::Line> line = decoder.next()) {
    const Level level = logs::level_of(line->text);
    if (!is_wanted(request, *line, level)) continue;
    LogLine& added = page.lines.emplace_back();
    added.time = line->time;
    added.stream = static_cast<requests::OutputStream>(line->stream);
    added.level = level;
    added.continues = line->continues;
    if (describe::is_utf8(line->text)) {
      added.text = std::string(line->text);
    } else {
      const BytesView bytes = as_bytes(line->text);
      added.bytes = Bytes(bytes.begin(), bytes.end());
    }
  }
}

net::http::Response code_response(const bulk::FromMaster& told) {
  if (const auto* no = std::get_if<bulk::Refused>(&told)) return problem(no->code, no->why, {});
  const auto& state = std::get<bulk::BlobState>(told);
  return json(requests::CodeState{state.have, state.complete});
}

/// Whether the user may submit jobs in any workspace, and so may upload code.
bool may_create_somewhere(const access::UserView& user) {
  bool may = user.is_admin;
  for (const auto& [workspace, role] : user.workspaces) may |= role != access::Role::viewer;
  return may;
}

/// Whether no more than that will ever come of this lease.
bool is_all(const TaskView& task, const LogPage& page) {
  return page.epoch == task.epoch && task.ending && page.next >= task.ending->output_end;
}

}  // namespace

void Gateway::add_output_requests() {
  serve_here<ReadLogs>([this](const Visit& visit, api::Credential who, const ReadLogs& request) {
    const bool goes_on = visit.request().is_websocket;
    tasks_.spawn(goes_on ? stream_logs(visit, std::move(who), request) : read_logs(visit, std::move(who), request));
  });
  serve_here<requests::GetCode>([this](const Visit& visit, api::Credential who, const requests::GetCode& request) {
    tasks_.spawn(get_code(visit, std::move(who), request));
  });
  serve_here<requests::PutCode>([this](const Visit& visit, api::Credential who, const requests::PutCode& request) {
    tasks_.spawn(put_code(visit, std::move(who), request));
  });
}

loop::Task<Result<LogPage>> Gateway::read_page(const OnGone& on_gone, const ReadLogs& request, const TaskView& task) {
  LogPage page{task.id, task.rank, request.epoch.value_or(task.epoch), request.offset, request.offset, {}};
  if (page.epoch == 0) co_return page;  // it has never run
  const cluster::LeaseId lease{task.id, {page.epoch}};
  std::int64_t scanned = 0;
  const TimePoint begun = deps_.loop.now();
  bool waits = false;
  for (bool is_first = true;; is_first = false) {
    const bool tails = is_first && request.tail > 0;
    // Answers stay in memory until they are sent. To those who wait they are short.
    std::optional<Semaphore::Permit> permit;
    if (!waits) permit.emplace(co_await reading_.acquire());
    bulk::ToMaster question = bulk::ReadOutput{0, lease, page.next, tails ? request.tail : 0, waits};
    const bulk::FromMaster told = co_await inquire_bulk(std::move(question), on_gone);
    if (const auto* no = std::get_if<bulk::Refused>(&told)) co_return fail(no->code, no->why);
    const auto& output = std::get<bulk::Output>(told);
    if (is_first) page.offset = output.offset;
    page.next = output.next;
    add_lines(request, output.records, page);
    scanned += static_cast<std::int64_t>(output.records.size());
    const bool is_late = deps_.loop.now() - begun >= output_wait_max;
    const bool may_wait = request.wait && !waits && !tails && !is_late && !is_all(task, page);
    if (!page.lines.empty() || scanned >= scan_max) co_return page;
    if (output.records.empty() && !may_wait) co_return page;
    waits = output.records.empty();
  }
}

loop::Task<void> Gateway::read_logs(Visit visit, api::Credential who, ReadLogs request) {
  const requests::GetTask question{request.task};
  const api::Reply reply = co_await inquire(std::move(who), question);
  const Result<TaskView> task = task_in(reply);
  if (!task) co_return visit.answer(response_of(reply));
  // Of a lease that is over nothing more comes, once all of it was read.
  const std::uint64_t epoch = request.epoch.value_or(task->epoch);
  request.wait &= epoch == task->epoch && (!task->ending || request.offset < task->ending->output_end);
  const OnGone on_gone = [&visit](auto call) { visit.exchange->on_gone(std::move(call)); };
  Result<LogPage> page = co_await read_page(on_gone, request, *task);
  visit.answer(page ? json(*page) : problem(page.error().code, page.error().message, {}));
}

loop::Task<void> Gateway::stream_logs(Visit visit, api::Credential who, ReadLogs request) {
  std::unique_ptr<net::http::WebSocket> socket;
  bool is_gone = false;
  std::function<void()> when_gone;
  const OnGone on_gone = [&](std::function<void()> call) {
    is_gone ? deps_.loop.post(std::move(call)) : void(when_gone = std::move(call));
  };
  loop::Tasks listening(deps_.loop);
  request.wait = true;
  while (!is_gone) {
    const requests::GetTask question{request.task};
    const api::Reply reply = co_await inquire(who, question);
    const Result<TaskView> task = reply.is_unauthenticated()
                                      ? Result<TaskView>(fail(Errc::denied, "your token is no longer valid"))
                                      : task_in(reply);
    if (!task && !socket) co_return visit.answer(response_of(reply));
    if (!task) {
      co_await socket->close(1008, task.error().message);
      co_return;
    }
    if (!socket) {
      Result<std::unique_ptr<net::http::WebSocket>> upgraded = co_await visit.exchange->upgrade();
      if (!upgraded) co_return;
      socket = *std::move(upgraded);
      listening.spawn(listen(*socket, is_gone, [this, &when_gone] {
        if (when_gone) deps_.loop.post(when_gone);  // not at once: it ends what calls this
      }));
    }
    if (!request.epoch && task->epoch > 0) request.epoch = task->epoch;
    if (is_gone) co_return;
    const Result<LogPage> page = co_await read_page(on_gone, request, *task);
    if (!page) {
      co_await socket->close(1011, page.error().message);
      co_return;
    }
    const Result<void> sent = co_await socket->send(describe::write_json(*page));
    if (!sent) co_return;
    // What was to come and did not come while it was waited for will not come any more.
    const bool has_ended = task->ending.has_value() || page->epoch < task->epoch;
    const bool is_over = has_ended && request.tail == 0 && page->next == request.offset;
    request.tail = 0;
    request.offset = page->next;
    if (is_over && task->epoch > page->epoch) {
      request.epoch = page->epoch + 1;
      request.offset = 0;
    } else if (is_over) {
      co_await socket->close(1000, "end of the output");
      co_return;
    } else if (task->epoch == 0) {
      co_await loop::sleep(deps_.loop, std::chrono::seconds(1));
    }
  }
}

loop::Task<void> Gateway::get_code(Visit visit, api::Credential who, requests::GetCode request) {
  const api::Reply me = co_await inquire(std::move(who), access::GetMe{});
  if (me.failed() != nullptr) co_return visit.answer(response_of(me));
  bulk::ToMaster question = bulk::AskBlob{0, request.hash};
  const bulk::FromMaster told = co_await inquire_bulk(std::move(question));
  visit.answer(code_response(told));
}

loop::Task<void> Gateway::put_code(Visit visit, api::Credential who, requests::PutCode request) {
  const api::Reply reply = co_await inquire(std::move(who), access::GetMe{});
  const auto* me = reply.as<access::Me>();
  if (me == nullptr) co_return visit.answer(response_of(reply));
  const access::UserView& user = me->user;
  if (!may_create_somewhere(user)) {
    co_return visit.answer(problem(403, "uploading code requires the role editor in a workspace; ask an admin for it"));
  }
  const BytesView body = as_bytes(visit.request().body);
  if (body.size() > bulk::part_bytes_max) {
    co_return visit.answer(problem(413, "a part can have at most 1 MiB; send the rest in further parts"));
  }
  bulk::ToMaster question =
      bulk::PutBlob{0, request.hash, request.size, request.offset, Bytes(body.begin(), body.end()), user.name};
  const bulk::FromMaster told = co_await inquire_bulk(std::move(question));
  visit.answer(code_response(told));
}

}  // namespace cadre::gateway
