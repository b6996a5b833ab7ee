import { describe, expect, it } from "vitest";
import { apiKeyScheme, httpBearerScheme } from "../../../src/auth/index.js";
import type { A2AClient } from "../../../src/client/client.js";
import { bindings } from "../../../src/client/discovery/interfaces.js";
import type { ClientOptions } from "../../../src/client/options.js";
import { A2AError } from "../../../src/core/error.js";
import { connect, echo, serve } from "../world.js";

const check = () => undefined;
const skills = [{ id: "books", name: "Books", description: "Keeps books.", tags: ["books"] }];
const schemes = {
  bearer: httpBearerScheme({ check }),
  key: apiKeyScheme({ in: "header", name: "x-key", check }),
};
const security = { schemes, require: ["bearer"], skills: { books: { require: ["key"] } }, skillOf: () => "books" };
const card = { name: "Keeper", description: "Keeps books.", version: "1.0.0", skills };
const secured = { ...echo, card, security };

/** Ways to call an agent. Each returns the error's message. */
const calls: Readonly<Record<string, (client: A2AClient) => Promise<unknown>>> = {
  "one answer": (client) => client.send("say hi"),
  "a stream": async (client) => {
    for await (const _ of client.stream("say hi"));
  },
  "a method": (client) => client.listTasks({}),
};

async function messageOf(call: Promise<unknown> | undefined): Promise<string> {
  const error = await call?.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(A2AError);
  expect(error).toMatchObject({ reason: "UNAUTHENTICATED" });
  return (error as A2AError).message;
}

const required = (schemes: string): string =>
  ` No credentials were given that the agent requires: ${schemes}. (credentials)`;
const byBearer = '"bearer" (HTTP authentication, Bearer)';

describe.each(bindings)("a client without credentials, over %s", (binding) => {
  const only: ClientOptions = { bindings: [binding] };

  it.each(Object.keys(calls))("learns the schemes of the agent that refuses a call for %s", async (name) => {
    const client = await connect((await serve({ agent: secured })).url, only);
    const message = await messageOf(calls[name]?.(client));
    expect(message.endsWith(required(byBearer))).toBe(true);
    expect(message.length).toBeGreaterThan(required(byBearer).length);
  });

  it("learns those of a skill", async () => {
    const client = await connect((await serve({ agent: secured })).url, only);
    const message = await messageOf(client.send("say hi", { skill: "books" }));
    expect(message).toContain(required(`${byBearer} with "key" (an API key)`));
  });

  it("learns those of an agent whose card requires none", async () => {
    const agent = { ...echo, security: { ...security, require: [{}], skills: {} } };
    const authenticator = {
      authenticate: () => {
        throw new A2AError("UNAUTHENTICATED", "Nobody is let in.");
      },
    };
    const { url } = await serve({ agent });
    const open = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
    const closed = await serve({ authenticator });
    const { supportedInterfaces } = (await (await fetch(`${closed.url}/.well-known/agent-card.json`)).json()) as {
      supportedInterfaces: unknown;
    };
    const client = await connect({ ...open, supportedInterfaces }, only);
    expect(await messageOf(client.listTasks({}))).toBe(
      `Nobody is let in.${required(`${byBearer}, or "key" (an API key)`)}`,
    );
  });

  it("gets the error unchanged for a call with a header of its own", async () => {
    const client = await connect((await serve({ agent: secured })).url, only);
    const headers = { authorization: "Bearer wrong" };
    expect(await messageOf(client.listTasks({}, { headers }))).not.toContain("were given");
  });
});

it("the message of an agent ends with a full stop before the schemes", async () => {
  for (const said of ["no token", "No token.", "Token?"]) {
    const authenticator = {
      authenticate: () => {
        throw new A2AError("UNAUTHENTICATED", said);
      },
    };
    const { url } = await serve({ agent: secured });
    const own = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
    const closed = await serve({ authenticator });
    const supportedInterfaces = [{ url: closed.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
    const client = await connect({ ...own, supportedInterfaces });
    const message = said === "no token" ? "no token." : said;
    expect(await messageOf(client.listTasks({}))).toBe(message + required(byBearer));
  }
});

it("an agent without schemes is quoted as it is", async () => {
  const authenticator = {
    authenticate: () => {
      throw new A2AError("UNAUTHENTICATED", "Nobody is let in.");
    },
  };
  const client = await connect((await serve({ authenticator })).url);
  expect(await messageOf(client.listTasks({}))).toBe("Nobody is let in.");
});
