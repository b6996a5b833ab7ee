import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pattern } from "../cases/case.js";
import { exchange } from "../cases/exchange.js";
import { openWorld } from "../cases/world.js";
import { begin } from "./begin.js";
import { type Speaker, speakers } from "./speakers.js";

/* No version returns the secrets of a webhook's owner, whichever version stored them. */

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** As the version names its scheme. */
const authentication = ({ version }: Speaker, credentials: string): Pattern =>
  version === "1.0" ? { scheme: "Bearer", credentials } : { schemes: ["Bearer"], credentials };

describe.each(speakers.map((speaker) => [speaker.name, speaker] as const))("a webhook set by %s", (_name, creator) => {
  const id = "a-configuration";
  const secrets = { token: `token-${randomUUID()}`, credentials: `credentials-${randomUUID()}` };
  let [taskId, url, answer] = ["", "", ""];

  beforeAll(async () => {
    taskId = await begin(world, creator, { text: "buy me a new phone" });
    url = world.webhook.urlOf(`/${randomUUID()}`);
    const config = { id, url, token: secrets.token, authentication: authentication(creator, secrets.credentials) };
    const set = await exchange(creator.setPush(taskId, config), world);
    expect(["OK", 200]).toContain(set.status);
    answer = JSON.stringify(set);
  });

  it("is answered without its credentials, and in 1.0 without its token", () => {
    expect(answer).toContain(url);
    expect(answer).not.toContain(secrets.credentials);
    // Clients before 1.0 look for their values in the answer, which they have just sent.
    expect(answer.includes(secrets.token)).toBe(creator.version !== "1.0");
  });

  it.each(speakers.map((speaker) => [speaker.name, speaker] as const))(
    "is read by %s without any secret",
    async (_reader, reader) => {
      // 0.1 has one of its own for each task; a 1.0 client names another one by its id.
      const configId = await idFor(reader);
      for (const request of [reader.getPush(taskId, configId), reader.listPush?.(taskId)]) {
        if (request === undefined) continue;
        const outcome = await exchange(request, world);
        const text = JSON.stringify(outcome);
        expect(text).toContain(url);
        expect(text).toContain("Bearer");
        for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
      }
    },
  );

  /** The id under which the configuration is stored. */
  async function idFor(reader: Speaker): Promise<string> {
    if (reader.version === "0.1") return "";
    const [native] = speakers as [Speaker];
    const { body } = await exchange(native.listPush?.(taskId) as never, world);
    return (body as { result: { configs: { id: string }[] } }).result.configs[0]?.id ?? "";
  }
});
