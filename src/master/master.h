/// A master: an ordered list of parts, of which it knows none by name. It takes requests from the gateway and news from
/// the shells of the parts, lets the parts decide, writes what they decided in one transaction, then performs it. For
/// the thread of its loop; requests may come from any.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/journal.h"
#include "api/part.h"
#include "api/service.h"
#include "base/log.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "loop/inbox.h"
#include "loop/task.h"
#include "master/part_shell.h"
#include "records/records.h"

namespace cadre::master {

/// A part of the list.
struct PartSetup {
  api::PartType type;
  /// Reads what the part is made from; in its place, PartType::load is used. Called away from the loop.
  std::function<Result<std::any>(records::Records&)> load = nullptr;
  std::any loaded = {};                                            ///< that, if it was read already
  MakePartShell make_shell = nullptr;                              ///< if the part has a shell
  std::function<void(std::vector<std::any>)> tell_bulk = nullptr;  ///< takes the facts for its bulk side, if it has one
};

struct Options {
  std::vector<PartSetup> parts;
  Duration tick_every = std::chrono::milliseconds(250);
  /// How long the certainty lasts that this is the only master, before the database is asked again.
  Duration confirm_every = std::chrono::seconds(2);
  Duration tidy_every = std::chrono::minutes(1);
  std::int64_t changes_kept = 0;
  /// Takes the replies to requests, and the changes that were written; on the master's loop.
  std::function<void(api::CallId, api::Reply)> reply;
  std::function<void(const std::vector<api::ChangeRow>&)> tell_changes;
};

class Master final : public api::Service, public api::Identifier {
 public:
  /// Reads what the parts are made from, and makes them and their shells.
  [[nodiscard]] static Result<std::unique_ptr<Master>> make(const Dependencies& dependencies, Options options,
                                                            std::uint64_t last_change);
  ~Master() override;

  void ask(api::CallId call, api::Credential credential, api::Request request) override;
  void forget(api::CallId call) override;
  void identify_caller(api::Credential credential, std::function<void(Result<api::Principal>)> then) override;
  /// News for a part from its bulk side; dropped if there is no room. Safe on any thread.
  void tell_part(std::size_t part, std::any news, ByteSize size);

  /// Goes on until stop(), or until another master has begun.
  [[nodiscard]] loop::Task<Result<void>> run();
  void stop();

  /// Requests, messages and connections that were refused.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  struct FromGateway {
    api::CallId call = 0;
    api::Credential credential;
    api::Request request;
  };
  struct FromShell {
    std::size_t part = 0;
    std::any news;
    ByteSize size;
  };
  struct Left {
    api::CallId call = 0;
  };
  struct Tick {};
  /// A part has more to do. It is in the inbox so that what has arrived meanwhile has its turn.
  struct Resume {};
  using News = std::variant<FromGateway, FromShell, Left, Tick, Resume>;
  static ByteSize size_of(const News& news);
  /// What the parts have decided together.
  struct Decided {
    api::Writes writes;
    std::vector<api::ChangeRow> changes;
    std::vector<std::vector<std::any>> effects;  ///< by part
    std::vector<std::vector<std::any>> facts;    ///< by part
    std::vector<std::pair<api::CallId, api::Reply>> replies;
    std::vector<api::CallId> audited;  ///< they are in the audit log once it is written
    bool is_finished = true;           ///< no part has more to do
  };

  Master(const Dependencies& dependencies, Options options);
  /// What a part is made from, as the database has it.
  Result<std::any> load(const PartSetup& part) const;
  Result<void> make_shells();
  Result<void> make_parts(std::vector<std::any> loaded);
  api::Now now() const { return {calendar_.now(), calendar_.wall()}; }
  void tick_later();
  void decide(const News& news);

  // Requests (calls.cc).
  void take_call(const FromGateway& one);
  /// The reply; nothing: it comes later.
  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request);
  /// Requests that concern all parts; nothing: it is none of them.
  std::optional<api::Reply> serve_for_all(const api::Call& call, const api::Request& request) const;
  Result<api::Principal> identify(const api::Credential& credential) const;
  api::Part* part_of(const api::Request& request) const;
  /// For debug logs.
  void log_call(const api::Call& call, const api::Request& request, const api::Reply* reply) const;
  /// Answers a request whose key is known with what it has created; whether it has.
  bool answer_repeated(const api::Call& call, const api::IdempotencyKey& key, const api::Request& request);
  /// Notes in the audit log what became of a request, if it belongs there.
  void audit(const api::Call& call, const api::Request& request, const api::Reply* reply);
  /// The same for one whose reply nobody waits for any more: it is executed all the same.
  void audit_without_reply(api::CallId call);
  /// Why nothing can be decided now, as far as the caller may know.
  std::string obstacle_for(const api::Credential& credential) const;
  /// To be sent when what was decided is written.
  void reply_later(api::CallId call, api::Reply reply);

  Decided settle();
  void act(Decided decided);
  loop::Task<void> tidy();
  loop::Task<Result<void>> write(const api::Writes& writes);
  /// Decides about what was received, writes and acts. An error that is_of_data() concerns only what was received.
  loop::Task<Result<void>> take(const std::vector<News>& news);
  /// Asks the database whether this is still the only master, if that is not certain enough to speak for the cluster.
  loop::Task<Result<void>> confirm();

  // What cannot be written fails alone (isolate.cc).
  static bool is_of_data(const Error& error);
  /// After a batch that could not be written: forgets what was decided and takes the inputs one by one.
  loop::Task<Result<void>> isolate(const std::vector<News>& news, Error why);
  /// Makes the parts again from the database.
  loop::Task<Result<void>> reload(const std::vector<News>& news);
  /// Answers one that cannot be written, so that it is not repeated.
  loop::Task<Result<void>> reject(const News& one, Error why);

  Dependencies deps_;
  loop::Calendar& calendar_;
  Options options_;
  std::vector<std::unique_ptr<PartShell>> shells_;  ///< one for each part; null: it has none
  std::vector<std::unique_ptr<api::Part>> parts_;
  api::Journal* journal_ = nullptr;                             ///< one of the parts
  std::unordered_map<std::string_view, std::size_t> requests_;  ///< which part serves them, by name
  std::vector<std::pair<api::CallId, api::Reply>> replies_;     ///< once what was decided is written
  struct Audited {
    api::Call call;
    api::Request request;
  };
  std::map<api::CallId, Audited> audited_;  ///< their replies are yet to come
  std::set<api::CallId> unanswered_;        ///< their replies were decided in a step that could not be written
  std::uint64_t last_change_ = 0;
  loop::Inbox<News> inbox_;
  loop::Timer ticking_;
  bool stopping_ = false;
  std::string obstacle_;               ///< why nothing can be written at the moment
  TimePoint confirmed_;                ///< when this was certainly the only master, on the loop's clock
  std::uint64_t unwritable_ = 0;       ///< inputs whose rows could not be written
  std::uint64_t unauthenticated_ = 0;  ///< tokens and passwords that were not valid
  MetricSet metrics_;
  Histogram step_seconds_{metrics_, "control_step_seconds",
                          "Duration of a step of the control loop, from taking its inputs to sending its effects, in "
                          "seconds.",
                          buckets::seconds};
  Histogram step_inputs_{metrics_, "control_step_inputs",
                         "Number of requests, messages and timer ticks handled in one step of the control loop.",
                         buckets::counts};
  Histogram commit_seconds_{metrics_, "control_commit_seconds",
                            "Duration of the database commit of a step of the control loop, in seconds.",
                            buckets::seconds};
};

}  // namespace cadre::master
