import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { BindingName } from "../support/driver.js";
import { bindingOf } from "../support/drivers.js";
import { HttpClient } from "../support/http.js";
import { type Setup, setups } from "./setups.js";
import { serve } from "./worlds.js";

/** The bindings' names in cards, with our clients of each. */
const clients: Readonly<Record<string, readonly BindingName[]>> = {
  GRPC: ["grpc"],
  JSONRPC: ["jsonrpc"],
  "HTTP+JSON": ["rest"],
  "urn:parley:binding:connect:v1": ["connect", "grpc-web"],
};

describe.each([
  ["one agent", setups.main],
  ["agents by tenant", setups.departments],
] as readonly [string, Setup][])("the interfaces of the card of %s", (_what, setup) => {
  let card: AgentCard;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    const { server, address } = await serve(setup, memoryStore());
    const http = new HttpClient();
    close = async () => {
      http.close();
      await server.close();
    };
    const url = `${address.url}/.well-known/agent-card.json`;
    const answer = await http.exchange({ method: "GET", url, headers: { "A2A-Version": "1.0" } });
    // Parses strictly: a field outside the contract fails.
    card = fromJson(AgentCardSchema, JSON.parse(await answer.text()) as JsonObject);
  });
  afterAll(() => close());

  it.each(Object.keys(clients))(
    "%s is true [SRV-CARD-05 SRV-CARD-02 SRV-GEN-03 SRV-TEN-02]",
    async (protocolBinding) => {
      const declared = card.supportedInterfaces.find((entry) => entry.protocolBinding === protocolBinding);
      if (declared === undefined) throw new Error("The card does not have it.");
      const address = { url: declared.url, grpcPort: Number(declared.url.split(":").at(-1)) };
      for (const name of clients[protocolBinding] ?? []) {
        const driver = bindingOf(name).connect(address);
        const request: JsonObject = declared.tenant === "" ? {} : { tenant: declared.tenant };
        const headers = { "A2A-Version": declared.protocolVersion };
        expect((await driver.call("ListTasks", request, { headers })).error).toBeUndefined();
        driver.close();
      }
    },
  );
});
