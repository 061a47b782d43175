/// The metrics of the master's bulk side. Counted on its thread; may be read on any.
#pragma once

#include "base/metric.h"

namespace cadre::master {

struct BulkMetrics {
  MetricSet all;
  Counter puts{all, "output_parts_total", "Number of parts of output received, including repeated ones."};
  Counter put_bytes{all, "output_part_bytes_total", "Bytes of output received, including repeated parts."};
  Counter stored_bytes{all, "output_bytes_total", "Bytes of output stored."};
  Counter stored_lines{all, "output_lines_total", "Number of lines of output stored."};
  Counter gaps{all, "output_gaps_total",
               "Number of parts of output that did not continue where the stored output ends."};
  Counter syncs{all, "output_syncs_total", "Number of syncs of output to disk."};
  Counter reads{all, "output_reads_total", "Number of requests to read output."};
  Gauge waiting{all, "output_waiting", "Number of readers that are waiting for more output."};
  Counter dropped_bytes{all, "output_dropped_bytes_total", "Bytes of output dropped beyond the size limit."};
  Gauge logs_bytes{all, "output_stored_bytes", "Disk space used by output, in bytes."};
  Counter blob_parts{all, "code_parts_total", "Number of parts of packed code received or requested."};
  Gauge blobs_bytes{all, "code_stored_bytes", "Disk space used by packed code, in bytes."};
  LabelledCounter refused{all, "bulk_refused_total", "Number of refused bulk messages, by reason.", {{"reason"}, 3}};
  metrics::CounterValue& refused_malformed = refused.with({"malformed"});
  metrics::CounterValue& refused_denied = refused.with({"denied"});
  metrics::CounterValue& refused_full = refused.with({"full"});
  Counter failures{all, "bulk_failures_total",
                   "Number of reads and writes of output and code that failed, for instance on a full disk."};
};

}  // namespace cadre::master
