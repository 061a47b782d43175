/// Experiments as a part of a master: wraps Control, and lets trials run as jobs of the part `cluster`. Its bulk side
/// serves everything that only reads, and metrics. Pure; one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cluster/control/cluster_part.h"
#include "experiment/control/control.h"
#include "experiment/requests/metrics.h"
#include "experiment/tables.h"

namespace cadre::experiment {

class ExperimentPart final : public api::Part {
 public:
  static constexpr std::string_view name = "experiment";
  using RowTypes =
      std::tuple<ExperimentRow, ExperimentSpecRow, TrialRow, CheckpointRow, SearchRow, SearchEventRow, ValidationRow>;
  [[nodiscard]] static api::PartType type(Control::Options options);

  /// `access` and `cluster` must outlive it.
  ExperimentPart(Control::Options options, Control::Loaded loaded, const access::AccessPart& access,
                 cluster::control::ClusterPart& cluster, const api::Now& now);

  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request) override;
  std::optional<api::Reply> serve_created(const api::Call& call, const api::Created& created) override;
  std::optional<Error> objection(const api::Principal& who, const api::Request& request) const override;
  void hear(const std::any& news, const api::Now& now) override;
  void forget(api::CallId call) override { control_.forget(call); }
  void tick(const api::Now& now) override { control_.tick(now.time); }
  std::vector<api::CallId> waiting() const override { return control_.waiting(); }
  api::Outcome settle(const api::Now& now) override;
  std::vector<Metric> metrics() const override;

  const Control& control() const { return control_; }

 private:
  /// The jobs of trials in the part `cluster`.
  class Jobs final : public JobControl {
   public:
    Jobs(const access::AccessPart& access, cluster::control::ClusterPart& cluster)
        : access_(access), cluster_(cluster) {}
    bool has_workspace(const std::string& name) const override { return access_.access().has_workspace(name); }
    Result<cluster::JobId> submit(const std::string& owner, const cluster::JobSpec& spec) override;
    void end(cluster::JobId job, std::optional<Duration> grace) override;
    Result<void> change(cluster::JobId job, const JobChange& change) override;
    std::optional<JobFacts> find(cluster::JobId job) const override;

    api::Now now;  ///< of the step

   private:
    /// The owner of a job, to whom it is as to a task of theirs.
    [[nodiscard]] Result<api::Call> call_of(const std::string& owner, const std::string& workspace) const;
    [[nodiscard]] Result<api::Reply> ask(const api::Call& call, const api::Request& request);

    const access::AccessPart& access_;
    cluster::control::ClusterPart& cluster_;
  };

  /// Tells Control of jobs that have changed.
  void review_jobs(const api::Now& now);

  cluster::control::ClusterPart& cluster_;
  Jobs jobs_;
  Control control_;
  std::uint64_t seen_ = 0;  ///< the greatest version of a job that was looked at
  api::Outcome outcome_;
};

/// Rows of an experiment; nothing: there is none.
[[nodiscard]] Result<std::optional<ExperimentRows>> read_experiment(api::RowReader& reader, ExperimentId id);
[[nodiscard]] Result<std::vector<CheckpointRow>> read_checkpoints(api::RowReader& reader, ExperimentId id);
[[nodiscard]] Result<std::optional<FoundCheckpoint>> read_checkpoint(api::RowReader& reader, const CheckpointId& id);

}  // namespace cadre::experiment
