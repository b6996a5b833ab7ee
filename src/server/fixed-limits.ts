import { adminBounds } from "../admin/limits.js";
import { unverified } from "../auth/checks-under-way.js";
import type { FixedLimit } from "../core/limits.js";
import { remoteBounds } from "../delegation/remotes.js";
import { artifactSize } from "../engine/log/plan.js";
import { queuedMessages } from "../engine/run/execution-slots.js";
import { waitingTurns } from "../engine/send/acceptance.js";
import { requestValues } from "../http/body.js";
import { arriving } from "../http/inbound-budget.js";
import { taskSubscriptions } from "../service/caller-shares.js";
import { openRequests } from "../service/interceptors/request-memory.js";

/** Returns the values of the limits that no option sets. */
export function fixedLimitValues(): Readonly<Record<FixedLimit, number>> {
  return {
    maxAdminCalls: adminBounds.calls,
    maxAdminStreams: adminBounds.streams,
    maxArrivingPerAddress: arriving.maxPerAddress,
    maxArtifactBytes: artifactSize.maxBytes,
    maxDelegationDepth: remoteBounds.maxDepth,
    maxOpenRequestBytes: openRequests.maxBytes,
    maxQueuedBytes: queuedMessages.maxBytes,
    maxRemoteCalls: remoteBounds.maxCalls,
    maxRequestValues: requestValues.max,
    maxSubscriptionsPerTask: taskSubscriptions.max,
    maxUnverifiedPerAddress: unverified.maxPerAddress,
    maxWaitingTurns: waitingTurns.max,
  };
}
