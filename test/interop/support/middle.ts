import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient, Binding } from "../../../src/client/index.js";
import { CuttingProxy } from "../../support/cutting-proxy.js";

/** Serves an agent's card with a single interface, which leads through a proxy. */
export class Middle {
  /** The proxy of all calls. */
  readonly proxy: CuttingProxy;
  readonly #cards: Server;

  private constructor(proxy: CuttingProxy, cards: Server) {
    this.proxy = proxy;
    this.#cards = cards;
  }

  /** @param agent a client of the agent, which has read its card */
  static async open({ card }: A2AClient, binding: Binding): Promise<Middle> {
    const whole = toJson(AgentCardSchema, card) as JsonObject & { supportedInterfaces: Interface[] };
    const found = whole.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === binding);
    if (found === undefined) throw new Error(`The agent is not served over ${binding}.`);
    const [, host = "", port = ""] = /^(?:http:\/\/)?(127\.0\.0\.1|localhost):(\d+)/.exec(found.url) ?? [];
    const proxy = await CuttingProxy.open(Number(port));
    const url = found.url.replace(`${host}:${port}`, `127.0.0.1:${proxy.port}`);
    const shown = JSON.stringify({ ...whole, supportedInterfaces: [{ ...found, url }] });
    const cards = createServer((_, response) => response.setHeader("content-type", "application/json").end(shown));
    await new Promise<void>((resolve) => cards.listen(0, "127.0.0.1", resolve));
    return new Middle(proxy, cards);
  }

  /** URL of the card. */
  get url(): string {
    return `http://127.0.0.1:${(this.#cards.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#cards.closeAllConnections();
    this.#cards.close();
    await this.proxy.close();
  }
}

type Interface = JsonObject & { readonly protocolBinding: string; readonly url: string };
