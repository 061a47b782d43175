/// The shell of the part `access`: the audit log in the database. For the thread of the master's loop.
#pragma once

#include <cstdint>

#include "access/part.h"
#include "base/log.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"
#include "master/part_shell.h"
#include "records/records.h"

namespace cadre::master {

class AccessShell final : public PartShell {
 public:
  /// All of it must outlive the shell.
  struct Dependencies {
    loop::Loop& loop;
    loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
    records::Records& records;
    Log& log;
  };
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
