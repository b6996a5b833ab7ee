import { join } from "node:path";
import { createServer } from "parley-a2a";
import { sqliteStore } from "parley-a2a/store/sqlite";
import { imageAgent } from "./image.js";
import { openPictures } from "./pictures.js";

/** Serves the agent, and on another port the pictures that it hands out by URL. Both continue after a restart. */
export async function start(
  port: number,
  folder: string = process.env.IMAGE_FOLDER ?? ".image-agent",
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const picturesPort = Number(process.env.PICTURES_PORT ?? (port === 0 ? 0 : port + 1_000));
  const pictures = await openPictures({ folder: join(folder, "pictures"), port: picturesPort });
  const agent = await imageAgent({ pictures });
  const server = await createServer({ agent, store: sqliteStore(join(folder, "tasks.db")), port, grpcPort: 0 });
  return {
    url: server.url,
    stop: async () => {
      await server.close();
      pictures.close();
    },
  };
}
