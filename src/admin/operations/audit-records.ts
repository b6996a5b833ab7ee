import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AuditRecord as AuditRecordMessage,
  AuditRecordSchema,
  ListAuditRecordsRequestSchema,
  ListAuditRecordsResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { auditEvents } from "../../audit/events.js";
import type { PlacedRecord } from "../../audit/recent.js";
import { invalid } from "../../core/error.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";

const outcomes: readonly string[] = ["success", "denied", "failure"];

/** Lists the latest audit records of this process. A page continues at a moment, which other processes understand too. */
export function auditOperation({ recentAudit }: AdminParts): Pick<AdminMethods, "listAuditRecords"> {
  return {
    listAuditRecords: async (request) => {
      known("events", request.events, Object.keys(auditEvents));
      known("outcomes", request.outcomes, outcomes);
      const page = pageOf(ListAuditRecordsRequestSchema, request, ["number"]);
      const [before] = page.after ?? [];
      const found = recentAudit.list(request, { before, limit: page.limit + 1 });
      const shown = found.slice(0, page.limit);
      const last = shown.at(-1);
      return create(ListAuditRecordsResponseSchema, {
        records: shown.map(auditRecordMessage),
        nextPageToken: last !== undefined && found.length > shown.length ? page.token([last.micros]) : "",
      });
    },
  };
}

/** @throws A2AError INVALID_PARAMS for a name that no record has */
function known(field: string, given: readonly string[], names: readonly string[]): void {
  if (given.every((name) => names.includes(name))) return;
  throw invalid([{ field, description: `must be some of ${names.join(", ")}` }]);
}

function auditRecordMessage({ micros, record }: PlacedRecord): AuditRecordMessage {
  const { at: _, until, count = 0, ...facts } = record;
  const message = create(AuditRecordSchema, { at: timestampOf(micros), count: BigInt(count) });
  if (until !== undefined) message.until = timestampFromMs(Date.parse(until));
  // Facts that are absent keep the empty texts of the message.
  return Object.assign(message, facts);
}

function timestampOf(micros: number): Timestamp {
  const seconds = Math.floor(micros / 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (micros - seconds * 1e6) * 1e3 });
}

/** Place of a record in time, in microseconds since 1970. */
export function microsOf({ at }: AuditRecordMessage): number {
  return at === undefined ? 0 : Number(at.seconds) * 1e6 + Math.floor(at.nanos / 1e3);
}
