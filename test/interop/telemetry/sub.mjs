import { completed } from "../../../dist/src/index.js";

export const agent = {
  card: { name: "Sub", description: "Does the work.", version: "1.0.0" },
  async *execute({ text }) {
    yield completed(`SECRETWORD done: ${text}`);
  },
};
