#include "master/access_shell.h"

#include <utility>

namespace cadre::master {
namespace {

/// That are removed by one transaction.
constexpr std::int64_t entries_at_once = 5'000;

}  // namespace

void AccessShell::perform(std::vector<std::any> effects) {
  for (std::any& effect : effects) {
    if (auto* wanted = std::any_cast<access::ReadAudit>(&effect)) deps_.loop.spawn(read(std::move(*wanted)));
  }
}

loop::Task<void> AccessShell::read(access::ReadAudit effect) {
  Result<std::vector<access::AuditRow>> rows =
      co_await deps_.pool.run([&] { return deps_.records.audit_before(effect.request.before, effect.request.most); });
  post_for(effect.call, access::AuditWasRead{effect.call, effect.request.most, std::move(rows)});
}

loop::Task<void> AccessShell::tidy() {
  for (std::int64_t removed = entries_at_once; removed == entries_at_once;) {  // others write in between
    const Result<std::int64_t> some =
        co_await deps_.pool.run([this] { return deps_.records.prune_audit(audit_kept_, entries_at_once); });
    if (!some)
      deps_.log.warning("cannot remove old entries of the audit log, trying again later: " + some.error().message);
    removed = some.value_or(0);
  }
}

}  // namespace cadre::master
