import type { Command } from "commander";
import type { Io } from "../io.js";
import { deliveryStateOption } from "./delivery-rows.js";
import { addLimit, addReach, addYes, position } from "./options.js";
import * as reads from "./push-reads.js";
import * as sends from "./push-sends.js";

/** Adds `parley push …`. */
export function add(push: Command, io: Io): void {
  const list = push
    .command("list")
    .description("list push configurations with the state of their deliveries")
    .option("--state <state>", "only idle, due or dead ones; may be given again", deliveryStateOption)
    .option("--task <task>", "only those of a task")
    .option("--target <origin>", "only those of a receiver, such as https://hooks.example")
    .option("--tenant <tenant>", "only those of a tenant")
    .option("--owner <owner>", "only those of an owner");
  addLimit(addReach(list)).action((flags: reads.ListFlags) => reads.list(flags, io));
  const one = (name: string, description: string): Command =>
    push.command(name).description(description).argument("<task>").argument("<config>");
  addReach(one("show", "show a push configuration and the latest attempts")).action(
    (task: string, config: string, flags: reads.ShowFlags) => reads.show({ taskId: task, configId: config }, flags, io),
  );
  addReach(one("test", "send a test event at once"), { file: false }).action(
    (task: string, config: string, flags: sends.SendFlags) => sends.test({ taskId: task, configId: config }, flags, io),
  );
  const resend = one("resend", "send a delivered event again, at once").argument("<generation>", "", position);
  addReach(resend, { file: false }).action((task: string, config: string, generation: number, flags: sends.SendFlags) =>
    sends.resend({ taskId: task, configId: config, generation }, flags, io),
  );
  addRedrive(push, io);
}

function addRedrive(push: Command, io: Io): void {
  const redrive = push
    .command("redrive")
    .description("resume dead deliveries from where they stopped: those of a task, or all")
    .option("--task <task>", "only those of a task")
    .option("--config <config>", "only this one of the task")
    .option("--all", "all, or those that the options below name", false)
    .option("--target <origin>", "of all: only those of a receiver")
    .option("--tenant <tenant>", "of all: only those of a tenant")
    .option("--owner <owner>", "of all: only those of an owner");
  addYes(addReach(redrive, { writes: true })).action((flags: sends.RedriveFlags) => sends.redrive(flags, io));
}
