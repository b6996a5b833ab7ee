import { hkdfSync } from "node:crypto";
import { expect, it, vi } from "vitest";
import { createPushSigner } from "../../../src/push/signature/signer.js";
import { newSecret } from "./keys.js";

vi.mock("node:crypto", { spy: true });

it("derives the secret of a token once for all notifications with it", async () => {
  const signing = { webhookSecrets: [newSecret()] };
  const signer = await createPushSigner({ signing, issuer: () => "https://agents.example" });
  const event = {
    id: "evt_1",
    taskId: "t",
    configId: "c",
    generation: 1,
    time: 0,
    url: "https://h.example",
    body: "{}",
  };
  const signatureOf = async (token: string): Promise<string | undefined> =>
    (await signer.headers({ ...event, token }))["webhook-signature"];
  const signatures: (string | undefined)[] = [];
  for (const token of ["a", "b", "a", "b"]) signatures.push(await signatureOf(token));
  const [a, b, ...again] = signatures;
  expect(a).not.toBe(b);
  expect(again).toEqual([a, b]);
  expect(vi.mocked(hkdfSync)).toHaveBeenCalledTimes(2);
});
