import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
  AgentInterfaceSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { greeting } from "../../src/cli/banner.js";

const opened = {
  url: "http://127.0.0.1:8080",
  grpcAddress: undefined,
  store: "parley.db",
  card: create(AgentCardSchema, { name: "Kitchen", version: "1.0.0" }),
};
const cardsIn = (text: string): string[] => text.match(/\S*agent-card\.json/g) ?? [];

it("names the card of each of several agents, and not those of very many", () => {
  expect(cardsIn(greeting(opened))).toEqual(["http://127.0.0.1:8080/.well-known/agent-card.json"]);
  expect(cardsIn(greeting({ ...opened, agents: ["kitchen", "b a r"] }))).toEqual([
    "http://127.0.0.1:8080/.well-known/agent-card.json",
    "http://127.0.0.1:8080/b%20a%20r/.well-known/agent-card.json",
  ]);
  const many = greeting({ ...opened, agents: Array.from({ length: 12 }, (_, i) => `a${i}`) });
  expect(cardsIn(many).length).toBe(10);
  expect(many).toContain("and those of 2 more agents\n  Tasks");
});

it("says which clients refuse the card where a public server names gRPC by an address", () => {
  const refusal = "refuse this card, as it names gRPC by host:port: --card-grpc url, or omit\n  Tasks";
  const publicUrl = "https://agents.example";
  const cardOf = (...urls: readonly string[]): AgentCard => ({
    ...opened.card,
    supportedInterfaces: urls.map(interfaceAt),
  });
  const naming = (...urls: readonly string[]): string => greeting({ ...opened, publicUrl, card: cardOf(...urls) });
  expect(naming("http://127.0.0.1:8080", "127.0.0.1:8081")).toContain(refusal);
  expect(greeting({ ...opened, card: cardOf("127.0.0.1:8081") })).not.toContain("refuse");
  expect(naming("http://127.0.0.1:8080", "https://127.0.0.1:8080")).not.toContain("refuse");
  expect(greeting(opened)).not.toContain("refuse");
});

const interfaceAt = (url: string): AgentInterface => create(AgentInterfaceSchema, { url });

it("has a place for keys in the query and in cookies", () => {
  const key = (location: string, name: string) => ({
    scheme: { case: "apiKeySecurityScheme" as const, value: { location, name } },
  });
  const card = create(AgentCardSchema, {
    name: "Kitchen",
    securitySchemes: { q: key("query", "key"), c: key("cookie", "sid") },
    securityRequirements: [{ schemes: { q: {}, c: {} } }],
  });
  const said = greeting({ ...opened, card });
  for (const path of ["lf.a2a.v1.A2AService/SendMessage", "message:send", "message:stream"]) {
    expect(said).toContain(`'http://127.0.0.1:8080/${path}?key=KEY' -H 'cookie: sid=KEY' -H `);
  }
});
