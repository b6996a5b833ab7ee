import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../engine/agent.js";

/** An agent with its card, ready to be served. */
export interface ServedAgent {
  /** Tenant that its interfaces declare; empty where a server has one agent. */
  readonly tenant: string;
  readonly agent: Agent;
  /** The public card, complete but for `supportedInterfaces`, which depends on where the server listens. */
  readonly card: AgentCard;
}

/** The agents behind one endpoint. */
export interface AgentDirectory {
  /** The agent that a tenant value of a request leads to, or undefined when none does. */
  resolve(tenant: string): ServedAgent | undefined;
  /** All of them; the first is the one whose card the well-known path shows. */
  readonly all: readonly ServedAgent[];
}
