import io.a2a.A2A;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfig;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfig;
import io.a2a.spec.AgentCard;
import io.a2a.spec.Artifact;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TextPart;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Calls an agent with the published Java library: {@code Caller URL BINDING}. Prints a line for each step, with its
 * result or error.
 */
public final class Caller {
  private final AgentCard card;
  private final boolean isRpc;

  private Caller(AgentCard card, String binding) {
    this.card = card;
    this.isRpc = binding.equals("JSONRPC");
  }

  public static void main(String[] args) throws Exception {
    AgentCard card;
    try {
      card = A2A.getAgentCard(args[0]);
      System.out.println("card: whole");
    } catch (Exception refused) {
      // The library refuses unknown members, so it cannot read a card that also suits callers of older versions.
      card = A2A.getAgentCard(args[0], null, Map.of("A2A-Version", "1.0"));
      System.out.println("card: of 1.0 alone");
    }
    new Caller(card, args[1]).run();
    System.exit(0);
  }

  private void run() throws Exception {
    Task[] done = new Task[1];
    step("send", () -> told(done[0] = taskOf(send(A2A.toUserMessage("echo hello")))));
    step("message", () -> text(((MessageEvent) send(A2A.toUserMessage("say hello"))).getMessage().parts()));
    step("stream", () -> told(stream("stream 3 8 5")));
    step("question", () -> {
      Task asked = taskOf(send(A2A.toUserMessage("ask")));
      Message answer = Message.builder(A2A.toUserMessage("this")).taskId(asked.id()).contextId(asked.contextId()).build();
      return told(asked) + ", " + told(taskOf(send(answer)));
    });
    step("subscription", this::canceledWhileWatched);
    try (Client client = client(false, (event, of) -> {})) {
      step("get", () -> told(client.getTask(new TaskQueryParams(done[0].id()))));
      ListTasksParams ofContext = ListTasksParams.builder().contextId(done[0].contextId()).tenant("").build();
      step("list", () -> String.valueOf(client.listTasks(ofContext).tasks().size()));
      step("nobody", () -> told(client.getTask(new TaskQueryParams("nobody"))));
      step("cancel", () -> told(client.cancelTask(new TaskIdParams(done[0].id()))));
    }
  }

  private interface Step {
    String run() throws Exception;
  }

  private static void step(String name, Step step) {
    try {
      System.out.println(name + ": " + step.run());
    } catch (Throwable error) {
      Throwable cause = error;
      while (cause.getCause() != null) cause = cause.getCause();
      System.out.println(name + " failed: " + cause.getClass().getSimpleName());
    }
  }

  private Client client(boolean streams, BiConsumer<ClientEvent, AgentCard> consumer) throws Exception {
    ClientConfig config = new ClientConfig.Builder().setStreaming(streams).setUseClientPreference(true).build();
    var builder = Client.builder(card).clientConfig(config).addConsumer(consumer).streamingErrorHandler(error -> {});
    return isRpc
        ? builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfig()).build()
        : builder.withTransport(RestTransport.class, new RestTransportConfig()).build();
  }

  private ClientEvent send(Message message) throws Exception {
    CompletableFuture<ClientEvent> answer = new CompletableFuture<>();
    try (Client client = client(false, (event, of) -> answer.complete(event))) {
      client.sendMessage(message);
      return answer.get(30, TimeUnit.SECONDS);
    }
  }

  private Task stream(String text) throws Exception {
    CompletableFuture<Task> end = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> consumer = (event, of) -> {
      Task task = taskOf(event);
      if (task.status().state().isFinal()) end.complete(task);
    };
    try (Client client = client(true, consumer)) {
      client.sendMessage(A2A.toUserMessage(text));
      return end.get(30, TimeUnit.SECONDS);
    }
  }

  /** One client starts a task, and another one watches and cancels it. */
  private String canceledWhileWatched() throws Exception {
    CompletableFuture<Task> begun = new CompletableFuture<>();
    CompletableFuture<Task> watched = new CompletableFuture<>();
    CompletableFuture<Task> end = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> watch = (event, of) -> {
      Task task = taskOf(event);
      watched.complete(task);
      if (task.status().state().isFinal()) end.complete(task);
    };
    try (Client first = client(true, (event, of) -> begun.complete(taskOf(event))); Client second = client(true, watch)) {
      first.sendMessage(A2A.toUserMessage("wait 20000"));
      TaskIdParams id = new TaskIdParams(begun.get(30, TimeUnit.SECONDS).id());
      second.subscribeToTask(id);
      watched.get(30, TimeUnit.SECONDS);
      return told(second.cancelTask(id)) + ", " + told(end.get(30, TimeUnit.SECONDS));
    }
  }

  private static Task taskOf(ClientEvent event) {
    return event instanceof TaskEvent task ? task.getTask() : ((TaskUpdateEvent) event).getTask();
  }

  private static String told(Task task) {
    StringBuilder all = new StringBuilder(task.status().state().toString());
    if (task.artifacts() == null) return all.toString();
    for (Artifact each : task.artifacts()) all.append(' ').append(text(each.parts()));
    return all.toString();
  }

  private static String text(List<Part<?>> parts) {
    StringBuilder all = new StringBuilder();
    for (Part<?> part : parts) if (part instanceof TextPart text) all.append(text.text());
    return all.toString();
  }
}
