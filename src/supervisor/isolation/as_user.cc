#include "supervisor/isolation/as_user.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <cstdlib>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

/// These calls do not say whether they succeeded: one with an invalid number gives the present one.
constexpr auto ask = static_cast<uid_t>(-1);

bool set_user(uid_t uid) {
  ::setfsuid(uid);
  return static_cast<uid_t>(::setfsuid(ask)) == uid;
}

bool set_group(gid_t gid) {
  ::setfsgid(gid);
  return static_cast<gid_t>(::setfsgid(ask)) == gid;
}

}  // namespace

Result<AsUser> AsUser::take(const std::optional<cluster::supervision::UnixUser>& user) {
  AsUser as_user;
  if (!user) return as_user;
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return system_failure("groups");
  as_user.own_groups_.resize(static_cast<std::size_t>(count));
  if (::getgroups(count, as_user.own_groups_.data()) < 0) return system_failure("groups");
  std::vector<gid_t> groups;
  for (const std::int64_t group : user->groups) groups.push_back(static_cast<gid_t>(group));
  as_user.taken_ = true;
  if (::setgroups(groups.size(), groups.data()) != 0 || !set_group(static_cast<gid_t>(user->gid)) ||
      !set_user(static_cast<uid_t>(user->uid))) {
    return fail(Errc::denied, "cannot access files as user " + std::to_string(user->uid));
  }
  return as_user;
}

AsUser::~AsUser() {
  if (!taken_) return;
  const bool is_restored =
      set_user(::geteuid()) && set_group(::getegid()) && ::setgroups(own_groups_.size(), own_groups_.data()) == 0;
  if (!is_restored) std::abort();
}

}  // namespace cadre::supervisor
