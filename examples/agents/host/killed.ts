// The host as a process that a test kills: it knows other agents from its start.
export { agent } from "./agent.js";

export const remoteAgents = JSON.parse(process.env.HOST_TEST_AGENTS ?? "{}") as Record<string, string>;
