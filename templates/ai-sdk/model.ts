import { existsSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { offlineModel } from "./offline-model.js";

if (existsSync(".env")) process.loadEnvFile();
const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, OPENAI_MODEL: name = "gpt-5-mini" } = process.env;

/** OpenAI's model if there is a key, otherwise one that answers by rules. Any model of the AI SDK fits. */
export const model: LanguageModel = apiKey ? createOpenAI({ apiKey, ...(baseURL && { baseURL }) })(name) : offlineModel;
