import { connectWith } from "../client/connect.js";
import { webPlatform } from "../client/web/platform.js";
import { connectRemote } from "./connect.js";
import type { ConnectRemote } from "./remotes.js";

const overFetch = connectWith(webPlatform);

/** Calls other agents on any platform with `fetch`. */
export const connectWeb: ConnectRemote = (agent, limits, telemetry) =>
  connectRemote(overFetch, agent, limits, telemetry);
