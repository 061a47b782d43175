#include <unistd.h>

#include <csignal>

#include "cli/commands/verb.h"
#include "cli/follow.h"
#include "cli/job_options.h"
#include "cli/line_printer.h"
#include "cli/words.h"
#include "client/upload.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

struct RunOptions {
  ClientOptions client;
  JobOptions job;
  bool detach = false;  ///< cadre run
  bool follow = false;  ///< cadre task run
  cluster::JobSpec spec;
};

/// The first interrupt stops the job, the second kills it, the third leaves it alone.
class Interrupts {
 public:
  Interrupts(Session& session, cluster::JobId job) : session_(session), job_(job), tasks_(session.loop) {}

  Result<void> watch() {
    TRY_ASSIGN(watch, loop::on_signal(session_.loop, {SIGINT, SIGTERM}, [this](int) { hear(); }));
    watch_ = std::move(watch);
    return {};
  }

 private:
  void hear() {
    const std::string job = "job " + std::to_string(job_.value);
    switch (++heard_) {
      case 1:
        say("stopping " + job + ", which has its grace to end; once more kills it");
        tasks_.spawn(end(*this, std::nullopt));
        break;
      case 2:
        say("killing " + job + "; once more leaves it alone");
        tasks_.spawn(end(*this, Duration(0)));
        break;
      default:
        say(job + " was asked to end, and may still run: see cadre job describe " + std::to_string(job_.value));
        session_.leave(128 + SIGINT);
    }
  }
  void say(const std::string& text) const { print_error("\n" + session_.name + ": " + text + "\n"); }

  static loop::Task<void> end(Interrupts& self, std::optional<Duration> grace) {
    const Got<JobView> ended = co_await ask(self.session_, requests::EndJob{self.job_, grace}, client::absence_max);
    if (!ended) self.session_.complain(ended.error());
  }

  Session& session_;
  const cluster::JobId job_;
  int heard_ = 0;
  loop::Tasks tasks_;
  std::optional<loop::SignalWatch> watch_;
};

int show_end(const Session& session, const JobView& job, const ClientOptions& client) {
  if (client.json) print_json(job);
  if (job.reason != cluster::lease::Reason::exited) {
    print_error(session.name + ": job " + std::to_string(job.id.value) + ": " + ending_words(job) + "\n");
  }
  return exit_code_of(job.reason, job.code);
}

loop::Task<int> follow(Session& session, JobView job, std::shared_ptr<const RunOptions> options) {
  Interrupts interrupts(session, job.id);
  if (const Result<void> watching = interrupts.watch(); !watching) {
    co_return session.complain({failed, watching.error().message});
  }
  // With --json, standard output is for the one value.
  LinePrinter printer([json = options->client.json](LinePrinter::To to, std::string_view text) {
    to == LinePrinter::To::out && !json ? print(text) : print_error(text);
  });
  std::optional<Follower> follower;
  FollowOptions following;
  following.on_line = [&](cluster::TaskId task, const logs::Line& line) {
    printer.print(prefix_of(task, follower->tasks_most()), line);
  };
  following.all_leases = true;
  following.shows_waiting = isatty(2) == 1;
  follower.emplace(session, std::move(following));
  const std::string id = std::to_string(job.id.value);
  const Got<JobView> ended = co_await follower->to_end(std::move(job));
  if (!ended) {
    const int code = session.complain(ended.error());
    print_error(session.name + ": job " + id + " may still run; follow it again with: cadre task logs -f " + id + "\n");
    co_return code;
  }
  co_return show_end(session, *ended, options->client);
}

loop::Task<int> submit(Session& session, std::shared_ptr<const RunOptions> options) {
  cluster::JobSpec spec = options->spec;
  if (!options->job.code.empty()) {
    const Got<client::Uploaded> code = co_await client::upload(session.connection, options->job.code);
    if (!code) co_return session.complain({code.error().code, "--dir: " + code.error().message});
    for (const std::string& path : code->skipped) {
      print_error(session.name + ": " + path + " is left out: it is neither a file nor a folder nor a link\n");
    }
    for (cluster::Member& member : spec.members) {
      if (member.command.code.empty()) member.command.code = code->hash;
    }
  }
  requests::Submit request{std::move(spec)};  // named: g++ 12 destroys such a temporary twice
  const Got<JobView> job = co_await ask(session, std::move(request));
  if (!job) co_return session.complain(job.error());
  if (options->follow) {
    const int code = co_await follow(session, *job, options);
    co_return code;
  }
  if (options->client.json) {
    print_json(*job);
  } else {
    print(std::to_string(job->id.value) + "\n");
  }
  co_return done;
}

/// The words are read before anybody is spoken to.
int run(const CLI::App& command, const std::shared_ptr<RunOptions>& options) {
  const std::string name = full_name(command);
  auto spec = make_job(options->job);
  if (!spec) {
    print_error(spec.error());
    print_error(name + ": nothing was submitted; " + name + " --help lists the options\n");
    return bad_usage;
  }
  options->spec = *std::move(spec);
  return with_master(name, settled(command, options->client),
                     [options](Session& session) { return submit(session, options); });
}

void choose(CLI::App& command, Chosen& chosen, const std::shared_ptr<RunOptions>& options) {
  command.callback([&command, &chosen, options] {
    chosen = [&command, options] {
      if (command.get_name() == "run" && options->detach) options->follow = false;
      return run(command, options);
    };
  });
}

}  // namespace

void add_run_command(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(app,
                               {"run", "Run a command on the cluster, with its output here and its exit code",
                                "  cadre run -- hostname\n"
                                "  cadre run --slots 1 --memory 8GiB --dir . -- python3 train.py --epochs 3\n"
                                "  cadre run --count 4 --env MODE=test -- ./worker\n"
                                "  cadre run --detach --file job.yaml\n"
                                "Ctrl-C stops the job, a second one kills it.\n"
                                "Ends with the task's own exit code, 128 and the number of a signal that ended it, "
                                "and 1 for other ends.\n"},
                               options->client);
  options->follow = true;
  command.add_flag("--detach", options->detach, "Do not wait: print the id of the job");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

void add_task_run_command(CLI::App& task, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(task,
                               {"run", "Submit a job and print its id",
                                "  cadre task run --slots 2 -- python3 train.py\n"
                                "  cadre task run --follow -- hostname\n"},
                               options->client);
  command.add_flag("--follow", options->follow, "Show its output here and end with its exit code, as cadre run does");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

}  // namespace cadre::cli
