// What include/cadre/remote.h stands on: the session of this process, its actors and their calls, and the registered
// classes of a process that is an actor itself.
#include <cadre/core.h>
#include <cadre/detail/remote.h>
#include <cxxabi.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "client/actors/actor_host.h"
#include "client/actors/actor_job.h"
#include "client/actors/output_tee.h"
#include "client/actors/session.h"
#include "client/outcomes.h"

namespace cadre {
namespace {

namespace fs = std::filesystem;
using client::Actor;
using client::ActorHost;
using client::Heard;
using client::Session;
using remote::Verb;

constexpr std::string_view host_flag = "--cadre-host";
constexpr std::string_view program_name = "program";
constexpr Wait room_wait = std::chrono::minutes(1);
constexpr Wait longest_wait = std::chrono::hours(24 * 365);  // whoever waits longer waits that long

TimePoint end_of(Wait wait, client::Engine& engine) { return engine.loop().now() + std::min(wait, longest_wait); }

// The registered classes.

struct Classes {
  std::map<std::type_index, detail::ClassEntry> by_type;
  std::map<std::string, const detail::ClassEntry*, std::less<>> by_name;
};

Classes& classes() {
  static Classes all;  // registered before main, in any order
  return all;
}

// The session of this process.

struct Current {
  /// What it uses at the end of the program goes after it.
  Current() { ::OPENSSL_init_ssl(0, nullptr); }

  std::mutex mutex;
  std::shared_ptr<Session> session;
  pid_t pid = 0;
  std::string url;
  std::string program;  // the hash of what was uploaded
};

Current& current() {
  static Current one;
  return one;
}

/// With the lock held: the session, unless it is that of the parent process, which is left alone.
std::shared_ptr<Session>& own_session(Current& now) {
  if (now.session && now.pid != ::getpid()) {
    now.session.reset();
    now.program.clear();
  }
  return now.session;
}

bool is_served = false;  ///< this process is an actor, and main knows it

bool was_started_as_actor() {
  std::ifstream file("/proc/self/cmdline");
  std::string program;
  std::string flag;
  return std::getline(file, program, '\0') && std::getline(file, flag, '\0') && flag == host_flag;
}

[[noreturn]] void raise(const Error& error) { throw OutcomeError(client::reason_of(error)); }

/// This program, as the cluster knows it.
Result<std::string> upload_program(Session& session) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "cadre-program-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return fail(Errc::unavailable, "no space for a copy of this program");
  fs::copy_file("/proc/self/exe", fs::path(folder) / program_name, error);
  Result<std::string> hash = fail(Errc::unavailable, "cannot copy this program: " + error.message());
  if (!error) hash = session.upload(folder, session.engine().loop().now() + std::chrono::minutes(10));
  fs::remove_all(folder, error);
  return hash;
}

std::string readable(const std::type_info& type) {
  int status = 0;
  char* const name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : type.name();
  std::free(name);
  return text;
}

// A process that is an actor.

class Stage {
 public:
  explicit Stage(ActorHost& host) : host_(host) {}

  void serve() {
    while (std::optional<ActorHost::Wanted> wanted = host_.next()) answer(*wanted);
  }

 private:
  void answer(const ActorHost::Wanted& wanted) {
    ValueWriter writer(ValueWriter::Rows::apart);
    std::string type;
    std::string text;
    try {
      run(wanted.heard, writer);
      host_.answer(wanted, Verb::value, "", as_bytes(writer.body()), writer.parts());
      return;
    } catch (const std::exception& error) {
      type = readable(typeid(error));
      text = error.what();
    } catch (...) {
      const std::type_info* const thrown = abi::__cxa_current_exception_type();
      type = thrown == nullptr ? "unknown" : readable(*thrown);
      text = "an exception that is not a std::exception was thrown";
    }
    host_.answer(wanted, Verb::error, type.substr(0, 1000), as_bytes(text), {});
  }

  void run(const Heard& heard, ValueWriter& writer) {
    std::vector<ValueReader::Part> parts;
    for (const remote::Segment& slice : heard.parts) parts.push_back({{slice.data, slice.size}, slice.owner});
    const ValueReader reader(heard.body.view(), std::move(parts));
    if (heard.verb == Verb::create) return create(heard.name, reader.root(), writer);
    if (!object_) throw std::logic_error("the object was not created");
    const detail::ClassEntry::Member* member = nullptr;
    for (const detail::ClassEntry::Member& one : entry_->members) {
      if (one.name == heard.name) member = &one;
    }
    if (member == nullptr) throw std::out_of_range(entry_->name + " has no " + heard.name);
    if (heard.verb == Verb::call && member->call) return member->call(object_.get(), reader.root(), writer);
    if (heard.verb == Verb::get && member->get) return member->get(object_.get(), writer);
    if (heard.verb == Verb::set && member->set) return member->set(object_.get(), reader.root()), writer.null();
    throw std::invalid_argument(heard.name + " cannot be used like that");
  }

  void create(const std::string& name, const ValueView& given, ValueWriter& writer) {
    const auto found = classes().by_name.find(name);
    if (found == classes().by_name.end()) throw std::out_of_range("no class " + name + " was registered");
    entry_ = found->second;
    for (const detail::ClassEntry::Constructor& one : entry_->constructors) {
      if (one.arguments != given.size()) continue;
      object_ = one.make(given);
      return writer.null();
    }
    throw std::invalid_argument(name + " has no registered constructor for " + std::to_string(given.size()) +
                                " arguments");
  }

  ActorHost& host_;
  const detail::ClassEntry* entry_ = nullptr;
  std::shared_ptr<void> object_;
};

int serve_as_actor() {
  if (!core::wait_until_begun()) return 0;
  const Result<ActorHost::Options> options = ActorHost::options_from_environment();
  Result<std::unique_ptr<ActorHost>> host =
      options ? ActorHost::open(*options) : Result<std::unique_ptr<ActorHost>>(Failure(options.error()));
  Result<void> announced;
  if (host) announced = (*host)->announce();
  if (!host || !announced) {
    const Error& error = host ? announced.error() : host.error();
    std::fprintf(stderr, "this process cannot be an actor: %s\n", error.message.c_str());
    return 1;
  }
  const client::OutputTee tee(**host);
  Stage stage(**host);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < options->lanes; ++i) others.emplace_back([&stage] { stage.serve(); });
  stage.serve();
  for (std::thread& one : others) one.join();
  return 0;
}

}  // namespace

void init(int argc, char** argv) {
  if (argc < 2 || argv[1] != host_flag) return;
  is_served = true;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::exit(serve_as_actor());
}

Outcome<void> connect(const std::string& url, Wait wait) { return connect(url, ConnectOptions{.wait = wait}); }

Outcome<void> connect(const std::string& url, const ConnectOptions& options) {
  if (!is_served && was_started_as_actor()) {  // it would make actors that make actors
    return Reason{Reason::Code::conflict,
                  "this process was started as an actor; call cadre::init(argc, argv) at the beginning of main"};
  }
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  if (own_session(now)) {
    if (url.empty() || url == now.url || now.session->is_at(url)) return {};
    const std::string where = now.session->master();
    return Reason{Reason::Code::conflict,
                  "this process is connected to " + where + "; disconnect() before you connect to " + url};
  }
  Session::Options chosen;
  chosen.wait = std::min(options.wait, longest_wait);
  if (!options.output) chosen.shows_output = false;
  Result<std::shared_ptr<Session>> opened = Session::open(url, std::move(chosen));
  if (!opened) return client::reason_of(opened.error());
  now.session = *std::move(opened);
  now.pid = ::getpid();
  now.url = url;
  return {};
}

void disconnect() {
  Current& now = current();
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(now.mutex);
    session = std::exchange(own_session(now), nullptr);
    now.program.clear();
  }
  if (session) session->close();  // callbacks run meanwhile, and may want the lock
}

namespace detail {

void add_class(std::type_index type, ClassEntry entry) {
  const ClassEntry& kept = classes().by_type.insert_or_assign(type, std::move(entry)).first->second;
  classes().by_name[kept.name] = &kept;
}

const ClassEntry& class_of(std::type_index type) {
  const auto found = classes().by_type.find(type);
  if (found != classes().by_type.end()) return found->second;
  throw OutcomeError(
      {Reason::Code::not_found, std::string(type.name()) + " is not registered; CADRE_REMOTE does that"});
}

const std::string& name_of(const ClassEntry& entry, const MemberKey& key) {
  for (const ClassEntry::Member& member : entry.members) {
    if (member.key == key) return member.name;
  }
  throw OutcomeError({Reason::Code::not_found, "this member of " + entry.name + " is not named in its CADRE_REMOTE"});
}

void need_comma(const std::string& class_name) {
  std::fprintf(stderr, "CADRE_REMOTE(%s, …): put a comma before each .method(…) and .field(…)\n", class_name.c_str());
  std::abort();
}

std::string name_in(std::string_view text) {
  const std::size_t start = text.rfind("::");
  std::string_view name = start == std::string_view::npos ? text : text.substr(start + 2);
  const std::size_t end = name.find_first_of(") ");
  return std::string(name.substr(0, end));
}

struct CallHandle::Inside {
  std::shared_ptr<Session> session;
  std::shared_ptr<Actor> actor;
  std::shared_ptr<client::Answer> answer;
};

bool CallHandle::is_there() const { return inside->answer->is_there(); }

bool CallHandle::wait(Wait wait) const {
  if (is_there()) return true;
  if (const Result<void> own = inside->actor->check_process(); !own) raise(own.error());
  return inside->actor->wait(*inside->answer, end_of(wait, inside->session->engine()));
}

void CallHandle::cancel() const { inside->actor->cancel(*inside->answer); }

void CallHandle::then(std::function<void()> call) const { inside->answer->then(std::move(call)); }

ValueReader CallHandle::value() const {
  const Result<Heard>& heard = inside->answer->get();
  if (!heard) raise(heard.error());
  if (heard->verb == Verb::error) throw RemoteError(heard->name, std::string(as_text(heard->body.view())));
  if (heard->verb != Verb::value) {
    throw OutcomeError({Reason::Code::refused, "the call was cancelled before it ran"});
  }
  std::vector<ValueReader::Part> parts;
  for (const remote::Segment& slice : heard->parts) parts.push_back({{slice.data, slice.size}, slice.owner});
  return ValueReader(heard->body.view(), std::move(parts));
}

bool wait_for_count(const std::vector<CallHandle>& calls, std::size_t count, Wait wait) {
  std::vector<const CallHandle*> open;
  const auto look = [&open] { std::erase_if(open, [](const CallHandle* one) { return one->is_there(); }); };
  for (const CallHandle& one : calls) open.push_back(&one);
  look();
  const std::size_t enough = calls.size() - std::min(count, calls.size());  // that may be open still
  if (open.size() <= enough) return true;
  const CallHandle::Inside& first = *open.front()->inside;
  if (const Result<void> own = first.actor->check_process(); !own) raise(own.error());
  for (const CallHandle* one : open) one->inside->actor->flush();
  client::Engine& engine = first.session->engine();
  return engine.wait(
      end_of(wait, engine), [] {},
      [&] {
        look();
        return open.size() <= enough;
      });
}

struct ActorHandle::Inside {
  Inside(std::shared_ptr<Session> s, std::shared_ptr<Actor> a) : session(std::move(s)), actor(std::move(a)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { actor->end(); }

  CallHandle say(Verb verb, const std::string& name, const ValueWriter* value) const {
    Actor::Saying saying{verb, name, {}, {}};
    if (value != nullptr) saying.body = as_bytes(value->body()), saying.parts = value->parts();
    Result<std::shared_ptr<client::Answer>> answer = actor->call(saying, session->engine().loop().now() + room_wait);
    if (!answer) raise(answer.error());
    CallHandle handle;
    handle.inside = std::make_shared<CallHandle::Inside>(CallHandle::Inside{session, actor, *std::move(answer)});
    return handle;
  }

  std::shared_ptr<Session> session;
  std::shared_ptr<Actor> actor;
};

ActorHandle::ActorHandle(const Needs& needs, const ClassEntry& entry, const ValueWriter& arguments) {
  Current& now = current();
  std::unique_lock lock(now.mutex);
  while (!own_session(now)) {
    lock.unlock();
    connect().value();
    lock.lock();
  }
  if (now.program.empty()) {
    const Result<std::string> hash = upload_program(*now.session);
    if (!hash) raise(hash.error());
    now.program = *hash;
  }
  cluster::Command command;
  command.argv = {"./" + std::string(program_name), std::string(host_flag)};
  command.code = now.program;
  client::ActorOptions options;
  options.job = client::actor_job({entry.name, needs.slots, needs.cpus, ByteSize{needs.memory}, needs.pool,
                                   needs.workspace, needs.concurrent, needs.unresponsive_after},
                                  std::move(command));
  options.create.name = entry.name;
  const BytesView body = as_bytes(arguments.body());
  options.create.body.assign(body.begin(), body.end());
  for (const BytesView& part : arguments.parts()) options.create.parts.emplace_back(part.begin(), part.end());
  options.rules = {needs.max_restarts, needs.max_call_retries};
  options.place_wait = std::min(needs.timeout, longest_wait);
  const std::shared_ptr<Session> session = now.session;
  lock.unlock();
  inside_ = std::make_shared<Inside>(session, session->create(std::move(options)));
  if (!needs.wait) return;
  Result<std::shared_ptr<client::Answer>> made =
      inside_->actor->created(TimePoint::max());  // without a place it fails, and a constructor may take its time
  if (!made) raise(made.error());
  CallHandle handle;
  handle.inside = std::make_shared<CallHandle::Inside>(CallHandle::Inside{session, inside_->actor, *std::move(made)});
  static_cast<void>(handle.value());  // throws what the constructor threw
}

CallHandle ActorHandle::call(const std::string& method, const ValueWriter& arguments) const {
  return inside_->say(Verb::call, method, &arguments);
}

CallHandle ActorHandle::get(const std::string& field) const {
  ValueWriter nothing;
  nothing.null();
  return inside_->say(Verb::get, field, &nothing);
}

CallHandle ActorHandle::set(const std::string& field, const ValueWriter& value) const {
  return inside_->say(Verb::set, field, &value);
}

void ActorHandle::end() const { inside_->actor->end(); }
std::uint64_t ActorHandle::job() const { return static_cast<std::uint64_t>(inside_->actor->job().value); }
std::uint32_t ActorHandle::restarts() const { return inside_->actor->restarts(); }

}  // namespace detail
}  // namespace cadre
