import type { Case } from "./case.js";
import { cancelCases } from "./cases/cancel.js";
import { capabilityCases } from "./cases/capabilities.js";
import { conversationCases } from "./cases/conversations.js";
import { extensionCases } from "./cases/extensions.js";
import { formCases } from "./cases/forms.js";
import { historyCases } from "./cases/history.js";
import { idempotencyCases } from "./cases/idempotency.js";
import { listCases } from "./cases/list.js";
import { mediaTypeCases } from "./cases/media-types.js";
import { messageCases } from "./cases/messages.js";
import { metadataCases } from "./cases/metadata.js";
import { ownerCases } from "./cases/owners.js";
import { pushCases } from "./cases/push.js";
import { refusalCases } from "./cases/refusals.js";
import { resultCases } from "./cases/results.js";
import { resumeCases } from "./cases/resume.js";
import { sendCases } from "./cases/send.js";
import { streamCases } from "./cases/stream.js";
import { subscribeCases } from "./cases/subscribe.js";
import { tenantCases } from "./cases/tenants.js";
import { validationCases } from "./cases/validation.js";
import { versionCases } from "./cases/versions.js";
import { cardCases } from "./raw/card-cases.js";
import { connectCases } from "./raw/connect-cases.js";
import { jsonBodyCases } from "./raw/json-body-cases.js";
import { jsonRpcCases } from "./raw/jsonrpc-cases.js";
import type { RawCase } from "./raw/raw-case.js";
import { restCases } from "./raw/rest-cases.js";

/** Messages and their tasks. */
export const taskTable: readonly Case[] = [
  ...sendCases,
  ...formCases,
  ...conversationCases,
  ...resultCases,
  ...metadataCases,
  ...historyCases,
  ...listCases,
  ...cancelCases,
  ...idempotencyCases,
];

/** Streams, direct answers and resumed streams. */
export const streamTable: readonly Case[] = [...streamCases, ...subscribeCases, ...messageCases, ...resumeCases];

/** Rules for every operation: versions, extensions, tenants, owners and errors. */
export const ruleTable: readonly Case[] = [
  ...validationCases,
  ...versionCases,
  ...extensionCases,
  ...tenantCases,
  ...mediaTypeCases,
  ...refusalCases,
  ...capabilityCases,
  ...pushCases,
  ...ownerCases,
];

/** Cases whose results may depend on the store. */
export const storeTable: readonly Case[] = [
  ...sendCases,
  ...historyCases,
  ...listCases,
  ...conversationCases,
  ...cancelCases,
  ...idempotencyCases,
  ...streamCases,
  ...subscribeCases,
  ...resumeCases,
];

/** Cases for an additional implementation of a binding. */
export const shortTable: readonly Case[] = [...sendCases, ...streamCases, ...messageCases, ...capabilityCases];

/** Cases for a single binding or for the card, by name. */
export const rawTables: Readonly<Record<string, readonly RawCase[]>> = {
  jsonrpc: jsonRpcCases,
  rest: restCases,
  connect: connectCases,
  card: cardCases,
  ...Object.fromEntries(Object.entries(jsonBodyCases).map(([binding, cases]) => [`JSON over ${binding}`, cases])),
};
