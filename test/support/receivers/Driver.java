import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Asks Webhooks about each line of the standard input; see cases.ts for the form of a line. */
final class Driver {
  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] fields = line.split(" ");
      byte[][] bytes = new byte[fields.length][];
      for (int at = 0; at < fields.length; at++) {
        bytes[at] = Base64.getDecoder().decode(fields[at].substring(1));
      }
      try {
        boolean genuine =
            Webhooks.isGenuine(
                text(bytes[0]), text(bytes[1]), text(bytes[2]), text(bytes[3]), bytes[5], Long.parseLong(text(bytes[4])));
        System.out.println(genuine ? "genuine" : "refused");
      } catch (IllegalArgumentException error) {
        System.out.println("no secret");
      }
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
