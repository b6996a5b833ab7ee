import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../contract/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";

storeContract({ name: "memoryStore()", open: () => memoryStore(), suite: vitest, fc });
storeContract({ name: "memoryStore({ shared })", open: () => memoryStore({ shared: true }), suite: vitest, fc });
