import "reflect-metadata";
import { Controller, Get, type MiddlewareConsumer, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent.ts";

const a2a = createA2A({ agent: greeter, store: memoryStore() });
await a2a.start();

@Controller()
class AppController {
  @Get()
  root(): string {
    return "An app of its own.";
  }

  @Post("own")
  own(): object {
    return { own: true };
  }
}

@Module({ controllers: [AppController] })
class AppModule {
  configure(consumer: MiddlewareConsumer): void {
    // Requests that are not for an agent go on to the controllers.
    consumer.apply(a2a.handler).forRoutes("{*splat}");
  }

  async onApplicationShutdown(): Promise<void> {
    await a2a.close();
  }
}

const app = await NestFactory.create(AppModule, { logger: ["error"] });
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT ?? 8080));
console.log(`listening on ${new URL(await app.getUrl()).port}`);
