import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type A2A, type Agent, artifact, completed, createA2A, inputRequired, working } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";

/** Number of pieces before the question, and after it. */
export const PIECES = 25;

/** The complete text of its artifact. */
export const WHOLE: string = Array.from({ length: 2 * PIECES }, (_, at) => `${at} `).join("");

/** Its status texts in order. */
export const SAID: readonly string[] = ["begun", "half?", "going on", "done"];

/** An agent in the test's own process that receives delegations. Records its messages. */
export class OtherAgent {
  /** Texts of all messages. */
  readonly heard: string[] = [];
  /** The context of each task, by the text that began it. */
  readonly contexts = new Map<string, string>();
  readonly #a2a: A2A;
  readonly #http: HttpServer;

  private constructor(a2a: (told: Told) => A2A, showsExtensions: boolean) {
    this.#a2a = a2a(this);
    this.#http = createHttpServer((request, response) => {
      if (showsExtensions || request.url !== "/.well-known/agent-card.json")
        return this.#a2a.handler(request, response);
      const { name, description, version } = this.#a2a.card();
      const card = {
        name,
        description,
        version,
        skills: [],
        defaultInputModes: ["text/plain"],
        defaultOutputModes: ["text/plain"],
        capabilities: { streaming: true },
        supportedInterfaces: [{ url: this.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(card));
    });
  }

  /** @param showsExtensions false to hide exact resume and idempotency keys from clients */
  static async start(showsExtensions = true): Promise<OtherAgent> {
    const other = new OtherAgent(
      (told) => createA2A({ agent: agentOf(told), store: memoryStore(), trustProxy: false }),
      showsExtensions,
    );
    await new Promise<void>((resolve) => other.#http.listen(0, "127.0.0.1", resolve));
    return other;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    await this.#a2a.close({ graceMs: 0 });
  }
}

/** Records of the agent. */
type Told = Pick<OtherAgent, "contexts" | "heard">;

function agentOf({ heard, contexts }: Told): Agent {
  return {
    card: { name: "Other", description: "Writes slowly.", version: "1.0.0" },
    async *execute(turn) {
      heard.push(turn.text);
      if (turn.history.length === 0) contexts.set(turn.text, turn.contextId);
      const isSecond = turn.history.length > 0;
      yield working(isSecond ? "going on" : "begun");
      const from = isSecond ? PIECES : 0;
      for (let at = from; at < from + PIECES; at++) {
        await sleep(8);
        yield artifact({ id: "numbers", name: "numbers", text: `${at} `, append: at > 0 });
      }
      if (isSecond) yield completed("done");
      else yield inputRequired("half?");
    },
  };
}
