import {
  type Agent,
  type AgentEvent,
  artifact,
  completed,
  FormDeclined,
  inputRequired,
  type Turn,
  working,
} from "parley-a2a";
import { failed } from "parley-a2a/events";
import { type ModelAddress, modelFor } from "../offline-model/model.js";
import { type Answer, type Call, callOnce, type Outcome } from "./call.js";
import { cardOf } from "./card.js";
import { choose } from "./choose.js";
import { Connection, type McpServer } from "./connection.js";
import { rules } from "./rules.js";

/** An agent for an MCP server, with the connection that it holds. */
export interface Bridge {
  readonly agent: Agent;
  close(): Promise<void>;
}

/** Connects to an MCP server and makes an agent of its tools. */
export async function bridgeTo(server: McpServer, { model }: { model?: ModelAddress } = {}): Promise<Bridge> {
  const connection = new Connection(server);
  const tools = await connection.tools();
  const address = model ?? (await modelFor(rules));
  const agent: Agent = {
    card: cardOf(await connection.about(), tools),
    recover: "restart",
    async *execute(turn) {
      const choice = await choose(turn, { tools, model: address });
      if ("question" in choice) return yield inputRequired(choice.question);
      // A tool that asks is called again with the answers so far, so that a question outlives this process.
      for (const answers: Answer[] = []; ; ) {
        const call = (signal: AbortSignal): Promise<Reported> =>
          report(turn, connection, { ...choice, answers, signal });
        const outcome = await turn.step("call", call, { per: "task" });
        if (outcome.error !== undefined) return yield failed(outcome.error);
        if (outcome.ask === undefined) return yield completed();
        answers.push(yield* answered(turn, outcome.ask));
      }
    },
  };
  return { agent, close: () => connection.close() };
}

/** An outcome without its result, which is reported as an artifact: a step is limited to 1 MiB. */
type Reported = Omit<Outcome, "parts">;

/** Calls a tool, and reports its progress and result to the client. */
async function report(turn: Turn, connection: Connection, call: Omit<Call, "onProgress">): Promise<Reported> {
  await turn.emit(working(`Calling ${call.tool}.`));
  const onProgress = (text: string): void => void turn.emit(working(text));
  const { parts, ...outcome } = await callOnce(connection, { ...call, onProgress });
  if (parts !== undefined) await turn.emit(artifact({ id: "result", name: call.tool, parts }));
  return outcome;
}

/** Asks the user what the tool asks, as a form. */
async function* answered(turn: Turn, { message, requestedSchema }: NonNullable<Outcome["ask"]>): Asking {
  try {
    const content = yield* turn.form({ ...requestedSchema }, { text: message });
    return { action: "accept", content: content as NonNullable<Answer["content"]> };
  } catch (error) {
    if (error instanceof FormDeclined) return { action: "decline" };
    throw error;
  }
}

type Asking = AsyncGenerator<AgentEvent, Answer, undefined>;
