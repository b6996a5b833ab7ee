import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.spec.JSONRPCError;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.TextPart;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Does what the first word of a message says. */
@ApplicationScoped
public class Agent implements AgentExecutor {
  private final Map<String, Thread> running = new ConcurrentHashMap<>();

  @Override
  public void execute(RequestContext context, EventQueue queue) throws JSONRPCError {
    String[] words = context.getUserInput(" ").split("\\s+");
    boolean goesOn = context.getTask() != null;
    if (words[0].equals("say") && !goesOn) {
      queue.enqueueEvent(new Message.Builder()
          .role(Message.Role.AGENT)
          .messageId(UUID.randomUUID().toString())
          .contextId(context.getContextId())
          .parts(text(after(words)))
          .build());
      return;
    }
    TaskUpdater task = new TaskUpdater(context, queue);
    if (goesOn) {
      task.addArtifact(text(String.join(" ", words)), null, "answer", null);
      task.complete();
      return;
    }
    task.submit();
    running.put(context.getTaskId(), Thread.currentThread());
    try {
      act(words, task);
    } catch (InterruptedException canceled) {
      // The interrupt ends the work of a canceled task and returns its thread. The library does neither.
    } finally {
      running.remove(context.getTaskId());
    }
  }

  private static void act(String[] words, TaskUpdater task) throws InterruptedException {
    switch (words[0]) {
      case "ask" -> task.requiresInput(task.newAgentMessage(text("What do you mean?"), null), true);
      case "stream" -> stream(task, Integer.parseInt(words[1]), Long.parseLong(words[2]));
      case "wait" -> {
        task.startWork();
        Thread.sleep(Long.parseLong(words[1]));
        task.complete();
      }
      case "fail" -> task.fail(task.newAgentMessage(text("It did not work."), null));
      default -> {
        task.startWork();
        task.addArtifact(text(after(words)), null, "echo", null);
        task.complete();
      }
    }
  }

  @Override
  public void cancel(RequestContext context, EventQueue queue) throws JSONRPCError {
    Thread thread = running.get(context.getTaskId());
    if (thread != null) thread.interrupt();
    new TaskUpdater(context, queue).cancel();
  }

  private static void stream(TaskUpdater task, int pieces, long everyMs) throws InterruptedException {
    task.startWork();
    for (int i = 1; i <= pieces; i++) {
      Thread.sleep(everyMs);
      task.addArtifact(text(i + " "), "pieces", "pieces", null, i > 1, i == pieces);
    }
    task.complete();
  }

  private static String after(String[] words) {
    return String.join(" ", List.of(words).subList(1, words.length));
  }

  private static List<Part<?>> text(String text) {
    return List.of(new TextPart(text));
  }
}
