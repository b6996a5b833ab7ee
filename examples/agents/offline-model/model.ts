import type { Rule } from "./rules.js";
import { startOfflineModel } from "./server.js";

/** Where a model is, for any client of OpenAI's API. */
export interface ModelAddress {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
}

/**
 * Returns the model that the environment names with `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`. Without a
 * key it starts an offline model with these rules, so that the agent runs without an account.
 */
export async function modelFor(rules: readonly Rule[]): Promise<ModelAddress> {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL, OPENAI_MODEL: model = "gpt-5-mini", OFFLINE_PIECE_MS } = process.env;
  if (apiKey !== undefined) return { apiKey, baseURL: OPENAI_BASE_URL ?? "https://api.openai.com/v1", model };
  const { baseURL } = await startOfflineModel({ rules, pieceMs: Number(OFFLINE_PIECE_MS ?? 0) });
  return { baseURL, apiKey: "offline", model: "offline" };
}
