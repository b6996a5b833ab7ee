import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AuditRecord as AuditRecordMessage,
  AuditRecordSchema,
  ListAuditRecordsRequestSchema,
  ListAuditRecordsResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { AuditRecord } from "../../audit/audit.js";
import { auditEvents } from "../../audit/events.js";
import { invalid } from "../../core/error.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";

const outcomes: readonly string[] = ["success", "denied", "failure"];

/** Lists the latest audit records of this process. */
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
        records: shown.map(({ record }) => messageOf(record)),
        nextPageToken: last !== undefined && found.length > shown.length ? page.token([last.number]) : "",
      });
    },
  };
}

/** @throws A2AError INVALID_PARAMS for a name that no record has */
function known(field: string, given: readonly string[], names: readonly string[]): void {
  if (given.every((name) => names.includes(name))) return;
  throw invalid([{ field, description: `must be some of ${names.join(", ")}` }]);
}

function messageOf({ at, until, count = 0, ...facts }: AuditRecord): AuditRecordMessage {
  const message = create(AuditRecordSchema, { at: timestampFromMs(Date.parse(at)), count: BigInt(count) });
  if (until !== undefined) message.until = timestampFromMs(Date.parse(until));
  // Facts that are absent keep the empty texts of the message.
  return Object.assign(message, facts);
}
