// An agent that plans in a step, delegates, and returns the result. `wait` makes it wait until it is killed.
import { existsSync } from "node:fs";
import { trace } from "@opentelemetry/api";
import { artifact, completed, working } from "../../../dist/src/index.js";

const tracer = trace.getTracer("agent");

/** The agent's own work, such as a model call. */
const ownWork = async (name) => {
  const span = tracer.startSpan(name);
  await new Promise((resolve) => setTimeout(resolve, 5));
  span.end();
};

export const agent = {
  card: { name: "Host", description: "Has others work.", version: "1.2.3" },
  recover: "restart",
  async *execute(turn) {
    yield working("SECRETWORD begun");
    await ownWork("work after a yield");
    yield artifact({ name: "plan", text: "SECRETWORD plan", metadata: { note: "SECRETWORD" } });
    await turn.step("plan", () => ownWork("work in a step"));
    if (turn.text.includes("wait")) while (!existsSync(process.env.GO_FILE)) await ownWork("work while it waits");
    const { text } = yield* turn.delegate("sub");
    await ownWork("work after a delegation");
    yield completed(`SECRETWORD ${text}`);
  },
};

export const remoteAgents = { sub: { url: process.env.SUB_URL } };
