"""Which processes actors are not forked from: those with more than one thread, or with an open GPU."""
import subprocess
import sys
import textwrap
import unittest


class Obstacles(unittest.TestCase):
    """Each in a process of its own: the one that runs the tests may have threads."""

    def said(self, before, code):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(before) + "\n" + textwrap.dedent(code)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def obstacle_after(self, code):
        return self.said(code, "from cadre import templates\nprint(templates._obstacle())")

    def test_one_thread_without_a_gpu_allows_forking(self):
        self.assertEqual(self.obstacle_after(""), "None")

    def test_threads_of_openblas_do_not_prevent_forking(self):
        count = "import os; count = lambda: len(os.listdir('/proc/self/task'))"
        self.assertEqual(self.said(count, "import numpy; print(count() > 1)"), "True", "install libopenblas0-pthread")
        self.assertEqual(self.obstacle_after("from cadre import templates; templates.prepare([])"), "None")
        for given, threads in (("", "2"), ("'OPENBLAS_NUM_THREADS': '3'", "3"), ("'OMP_NUM_THREADS': '1'", "1")):
            said = self.said(count, f"""
                os.sched_getaffinity = lambda process: {{0, 1}}
                from cadre import templates
                templates.prepare([])
                assert 'OPENBLAS_NUM_THREADS' not in os.environ
                templates._start_blas_threads({{{given}}})
                import numpy
                numpy.ones((500, 500)) @ numpy.ones((500, 500))
                print(count())""")
            self.assertEqual(said, threads, given)

    def test_a_second_thread_prevents_forking(self):
        said = self.obstacle_after("""
            import threading
            threading.Thread(target=threading.Event().wait, daemon=True).start()""")
        self.assertEqual(said, "the modules that it imports start threads (2 are running), which a fork does not copy")

    def test_an_open_gpu_prevents_forking(self):
        for device, words in (("/dev/nvidia0", "the modules that it imports open a GPU, which a fork does not copy"),
                              ("/dev/nvidiactl", "the modules that it imports open a GPU, which a fork does not copy"),
                              ("/dev/null", "None")):
            said = self.obstacle_after(f"""
                import os
                opened = os.open("/dev/zero", os.O_RDONLY)  # in place of the device, which few hosts have
                real = os.readlink
                os.readlink = lambda path: {device!r} if path == f"/proc/self/fd/{{opened}}" else real(path)""")
            self.assertEqual(said, words, device)


if __name__ == "__main__":
    unittest.main()
