#include "master/output_search.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/pattern.h"
#include "logs/record.h"

namespace cadre::master {
namespace {

namespace bulk = cluster::bulk;
using Clock = std::chrono::steady_clock;
using experiment::LineFound;
using experiment::RunOutput;

/// Time between two questions for output that is still on its way.
constexpr Duration poll_every = std::chrono::milliseconds(50);

/// The patterns that were not found yet in the output of an agent.
class Search {
 public:
  Search(OutputReader& reader, const experiment::SearchOutput& wanted, const OutputBounds& bounds)
      : reader_(reader), bounds_(bounds), late_(Clock::now() + bounds.time_max) {
    done_.trial = wanted.trial;
    done_.run = wanted.run;
    for (const std::string& text : wanted.patterns) {
      const Result<Pattern> pattern = Pattern::parse(text);  // the configuration was checked
      patterns_.push_back(pattern ? std::optional(*pattern) : std::nullopt);
    }
  }

  Result<void> look_in(const RunOutput& output) {
    const auto begun = Clock::now();
    bulk::ReadOutput question{0, output.lease, 0, bounds_.lines_most, false};
    std::int64_t read = 0;
    while (read < bounds_.bytes_most) {
      TRY_ASSIGN(part, reader_.read(question, bounds_.wait_max));
      TRY(match(part.records, output.agent));
      read += static_cast<std::int64_t>(part.records.size());
      if (part.next >= output.end) return {};
      if (part.records.empty() && part.next <= question.offset) {
        if (Clock::now() - begun > bounds_.wait_max) {
          return fail(Errc::timed_out, "agent " + output.agent + " has not sent all of it in time");
        }
        std::this_thread::sleep_for(poll_every);
      }
      question.offset = std::max(part.next, question.offset);
      question.last_lines = 0;
    }
    return {};
  }

  experiment::OutputSearched done_;

 private:
  Result<void> match(BytesView records, const std::string& agent) {
    logs::Decoder decoder(records);
    while (const std::optional<logs::Line> line = decoder.next()) {
      if (line->stream == logs::Stream::note) continue;
      for (std::size_t i = 0; i < patterns_.size(); ++i) {
        if (Clock::now() > late_) return fail(Errc::timed_out, "it takes too long");
        if (patterns_[i] && !is_found(i, agent) && patterns_[i]->is_in(line->text)) {
          done_.found.push_back({i, agent, std::string(line->text.substr(0, experiment::line_shown_most))});
        }
      }
    }
    return {};
  }

  bool is_found(std::size_t policy, const std::string& agent) const {
    return std::any_of(done_.found.begin(), done_.found.end(),
                       [&](const LineFound& one) { return one.policy == policy && one.agent == agent; });
  }

  OutputReader& reader_;
  const OutputBounds& bounds_;
  const Clock::time_point late_;
  std::vector<std::optional<Pattern>> patterns_;
};

}  // namespace

Result<experiment::OutputSearched> search_output(OutputReader& reader, const experiment::SearchOutput& search,
                                                 const OutputBounds& bounds) {
  Search looking(reader, search, bounds);
  for (const RunOutput& output : search.outputs) {
    const Result<void> looked = looking.look_in(output);
    if (looked) continue;
    if (looked.error().code == Errc::conflict) return Failure(looked.error());
    looking.done_.problem = looked.error().message;
  }
  return std::move(looking.done_);
}

}  // namespace cadre::master
