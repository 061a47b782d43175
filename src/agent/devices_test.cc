#include "agent/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "agent/host_facts.h"

namespace cadre::agent {
namespace {

using plan::SlotKind;

/// Lets find_slots see the GPUs of a library that was made for these tests.
class WithLibrary {
 public:
  WithLibrary(const char* library, const char* gpus) {
    ::setenv("CADRE_NVML", library, 1);
    ::setenv("FAKE_NVML_GPUS", gpus, 1);
  }
  ~WithLibrary() {
    ::unsetenv("CADRE_NVML");
    ::unsetenv("FAKE_NVML_GPUS");
  }
};

TEST(Slots, AreCoresWhereThereIsNoGpu) {
  const WithLibrary library(CADRE_FAKE_NVML, "0");
  const Result<FoundSlots> found = find_slots({});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->kind, SlotKind::cpu);
  EXPECT_EQ(static_cast<std::int64_t>(found->slots.size()), facts_of_host().cpus.milli / 1000);
}

TEST(Slots, AreGpusByTheirUuids) {
  const WithLibrary library(CADRE_FAKE_NVML, "3");
  const Result<FoundSlots> found = find_slots({});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->kind, SlotKind::cuda);
  ASSERT_EQ(found->slots.size(), 3U);
  EXPECT_EQ(found->slots[2].device, "GPU-2");
  EXPECT_EQ(found->slots[2].name, "Test GPU");
}

TEST(Slots, MayBeChosen) {
  const WithLibrary library(CADRE_FAKE_NVML, "4");
  EXPECT_EQ(find_slots({"2", {}})->slots.size(), 2U);
  EXPECT_EQ(find_slots({"0,3", {}})->slots[1].device, "GPU-3");
  EXPECT_TRUE(find_slots({"none", {}})->slots.empty());
  const Result<FoundSlots> permits = find_slots({"auto", 7});
  EXPECT_EQ(permits->slots.size(), 7U);
  EXPECT_EQ(permits->kind, SlotKind::artificial);
  EXPECT_EQ(permits->slots[0].device, "");
}

TEST(Slots, ThatAreNotThereAreRefusedWithARemedy) {
  const WithLibrary library(CADRE_FAKE_NVML, "2");
  EXPECT_EQ(find_slots({"3", {}}).error().message,
            "--slots 3: this host has 2 GPUs; --artificial-slots N offers N slots that are not tied to a device");
  EXPECT_EQ(find_slots({"0,2", {}}).error().code, Errc::invalid);
  for (const char* text : {"", "x", "1,", ",1", "1;2", "-1"}) EXPECT_FALSE(find_slots({text, {}})) << text;
}

TEST(Slots, ADriverThatIsNotLoadedMeansNoGpu) {
  const WithLibrary library(CADRE_FAKE_NVML, "no driver");
  EXPECT_EQ(find_slots({})->kind, SlotKind::cpu);
}

TEST(Slots, ADriverThatIsBrokenIsSaid) {
  const WithLibrary library(CADRE_FAKE_NVML, "broken");
  const Result<FoundSlots> found = find_slots({});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("repair the driver"), std::string::npos) << found.error().message;
}

}  // namespace
}  // namespace cadre::agent
