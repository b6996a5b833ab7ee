import { connectWith } from "../client/connect.js";
import { nodePlatform } from "../client/node/platform.js";
import { webPlatform } from "../client/web/platform.js";
import { connectRemote } from "./connect.js";
import type { ConnectRemote } from "./remotes.js";

const overSockets = connectWith(nodePlatform);
const overFetch = connectWith(webPlatform);

/** Calls other agents from Node.js. */
export const connectNode: ConnectRemote = (agent, limits, telemetry) =>
  connectRemote(agent.fetch === undefined ? overSockets : overFetch, agent, limits, telemetry);
