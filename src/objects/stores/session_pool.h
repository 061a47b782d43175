/// Sessions of which each is used by one thread at a time: made when one is missing, up to a bound, and kept. Safe on
/// any thread; outlives what it has lent.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cadre::objects {

template <class Session>
class SessionPool {
 public:
  SessionPool(std::size_t sessions_max, std::function<std::unique_ptr<Session>()> make)
      : left_(sessions_max), make_(std::move(make)) {}
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  class Loan {
   public:
    Loan(SessionPool& pool, std::unique_ptr<Session> session) : pool_(pool), session_(std::move(session)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.take_back(std::move(session_)); }
    Session& operator*() const { return *session_; }
    Session* operator->() const { return session_.get(); }

   private:
    SessionPool& pool_;
    std::unique_ptr<Session> session_;
  };

  /// Waits while all are in use.
  Loan borrow() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return left_ > 0; });
    --left_;
    if (idle_.empty()) {
      lock.unlock();
      return Loan(*this, make_());
    }
    std::unique_ptr<Session> session = std::move(idle_.back());  // the one used last: others may be closed meanwhile
    idle_.pop_back();
    return Loan(*this, std::move(session));
  }

 private:
  void take_back(std::unique_ptr<Session> session) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(session));
      ++left_;
    }
    returned_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t left_;
  std::vector<std::unique_ptr<Session>> idle_;
  const std::function<std::unique_ptr<Session>()> make_;
};

}  // namespace cadre::objects
