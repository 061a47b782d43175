#include "supervisor/isolation/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "supervisor/descriptor.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

namespace cadre::supervisor {

namespace {

/// The numbers of one architecture.
struct Numbers {
  std::uint32_t architecture;
  std::vector<std::uint32_t> denied;
  std::vector<std::uint32_t> nesting;     ///< what is denied to those who may not nest
  std::vector<std::uint32_t> clone_like;  ///< the same for new user namespaces, with flags as the first argument
  std::uint32_t clone3;
};

Numbers native() {
  Numbers numbers {
#if defined(__x86_64__)
    AUDIT_ARCH_X86_64,
#elif defined(__aarch64__)
    AUDIT_ARCH_AARCH64,
#else
#error "name the architecture for seccomp"
#endif
        {SYS_umount2,        SYS_pivot_root,
         SYS_open_tree,      SYS_fsopen,
         SYS_fsconfig,       SYS_fsmount,
         SYS_fspick,         SYS_mount_setattr,
         SYS_open_tree_attr, SYS_setns,
         SYS_keyctl,         SYS_add_key,
         SYS_request_key,    SYS_bpf,
         SYS_kexec_load,     SYS_kexec_file_load,
         SYS_init_module,    SYS_finit_module,
         SYS_delete_module,  SYS_open_by_handle_at,
         SYS_userfaultfd,    SYS_perf_event_open,
         SYS_swapon,         SYS_swapoff,
         SYS_reboot,         SYS_acct,
         SYS_quotactl,       SYS_syslog},
        {SYS_mount, SYS_move_mount}, {SYS_clone, SYS_unshare}, SYS_clone3
  };
#if defined(__x86_64__)
  for (const std::uint32_t number : {SYS_iopl, SYS_ioperm}) numbers.denied.push_back(number);
#endif
  return numbers;
}

#if defined(__x86_64__)
/// The same calls of 32-bit programs (arch/x86/entry/syscalls/syscall_32.tbl).
Numbers of_32_bit() {
  return {AUDIT_ARCH_I386,
          {22,  52,  217, 428, 430, 431, 432, 433, 442, 467, 346, 288, 286, 287, 357,
           283, 128, 350, 129, 342, 374, 336, 87,  115, 88,  51,  131, 103, 110, 101},
          {21, 429},
          {120, 310},
          435};
}
#endif

class Filter {
 public:
  explicit Filter(Nesting nesting) : nesting_(nesting) {}

  void add(Numbers numbers) {
    const bool may_nest = nesting_ == Nesting::allowed && numbers.architecture == native().architecture;
    if (may_nest) numbers.clone_like.clear();
    if (!may_nest) numbers.denied.insert(numbers.denied.end(), numbers.nesting.begin(), numbers.nesting.end());
    std::vector<sock_filter> body;
    body.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
    constexpr std::uint32_t x32_bit = 0x4000'0000;
    if (numbers.architecture == AUDIT_ARCH_X86_64) {
      body.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, x32_bit, 0, 1));
      body.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));
    }
#endif
    for (const std::uint32_t number : numbers.denied) {
      body.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
      body.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
    }
    // Its flags are in memory, where a filter cannot look; the C library then uses the older call.
    body.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers.clone3, 0, 1));
    body.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));
    for (const std::uint32_t number : numbers.clone_like) {
      body.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
      body.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));  // the lower half
      body.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1));
      body.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
      body.push_back(answer(SECCOMP_RET_ALLOW));
    }
    body.push_back(answer(SECCOMP_RET_ALLOW));
    // A jump reaches 255 instructions at most in one step, hence the one that goes further.
    program_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers.architecture, 1, 0));
    program_.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(body.size())));
    program_.insert(program_.end(), body.begin(), body.end());
  }

  Result<void> install() {
    program_.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));  // another architecture
    const sock_fprog program{static_cast<unsigned short>(program_.size()), program_.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return system_failure("filter of system calls");
    return {};
  }

 private:
  static sock_filter answer(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }

  Nesting nesting_;
  std::vector<sock_filter> program_{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch))};
};

}  // namespace

Result<void> deny_system_calls(Nesting nesting) {
  Filter filter(nesting);
  filter.add(native());
#if defined(__x86_64__)
  filter.add(of_32_bit());
#endif
  return filter.install();
}

}  // namespace cadre::supervisor
