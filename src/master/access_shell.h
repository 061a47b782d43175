/// The shell of the part `access`: the audit log in the database. For the thread of the master's loop.
#pragma once

#include <cstdint>

#include "access/part.h"
#include "master/part_shell.h"

namespace cadre::master {

class AccessShell final : public PartShell {
 public:
  /// Keeps so many entries of the audit log.
  AccessShell(const Dependencies& dependencies, std::int64_t audit_kept)
      : deps_(dependencies), audit_kept_(audit_kept) {}

  void perform(std::vector<std::any> effects) override;
  loop::Task<void> tidy() override;

 private:
  loop::Task<void> read(access::ReadAudit effect);

  Dependencies deps_;
  std::int64_t audit_kept_;
};

}  // namespace cadre::master
